// What one entry did, as the desk of watches keeps it: the events that are told, and whether the
// lock of a name left the shard or came there, which those go by who follow the name.
#pragma once

#include "common/ids.h"
#include "rpc/watch_messages.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::server {

// Both shards say the same number (locks/lock_move.h).
struct WatchMove {
  std::string name;
  std::uint32_t number = 0;
  bool left = false;     // Or it came.
  ShardId other;         // Where it went to, or came from.
  FencingToken carried;  // Of one that came: its holder's; 0: nobody's.
};

// Lists of ends move nothing, so an entry moves one lock at most. Few do, so the rest pays a
// pointer.
struct WatchRecord : rpc::WatchBlock {
  std::shared_ptr<const WatchMove> move{};

  bool empty() const { return events.empty() && !move; }
};

// About the bytes of memory that a record takes.
std::size_t memory_bytes(const WatchRecord& record);

}  // namespace gcoord::server
