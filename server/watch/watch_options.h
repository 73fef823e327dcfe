// Limits of the watches of a node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

class WatchJudge;

struct WatchHubOptions {
  std::uint32_t shard_count = 1;
  std::size_t ring_bytes_max = std::size_t{64} << 20;
  std::size_t backlog_bytes_max = std::size_t{256} << 20;  // Of all connections together.
  std::size_t backlog_each_max = std::size_t{1} << 20;
  std::size_t backlog_each_min = std::size_t{64} << 10;
  std::size_t replays_max = 8;  // Machines at once.
  WatchJudge* judge = nullptr;  // It outlives the hub; nullptr: all clients may watch all.
};

}  // namespace gcoord::server
