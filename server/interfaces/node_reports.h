// Reports of a node to operators, as JSON: status, shards.
//
// Integers over 32 bits are strings, as everywhere in gcoord's JSON. Reads the engine and the lock
// service of this node only; nothing here is linearizable. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/lock_messages.h"

#include <cstdint>
#include <string>

namespace gcoord::server {

class NodeReports {
 public:
  virtual ~NodeReports() = default;

  virtual std::string node_status() const = 0;

  // A list of shards, which may be made in parts: its beginning, rows of at most kShardRowsMax
  // shards with a comma between any two, and kShardListEnd.
  virtual std::string shard_list_begin(ShardId first) const = 0;
  virtual std::string shard_rows(const protocol::ShardRange& range) const = 0;
  virtual std::string shard_show(ShardId shard) const = 0;
};

// A row is some 300 bytes, so that a list stays within a frame.
inline constexpr std::uint32_t kShardRowsMax = 2048;
inline constexpr const char* kShardListEnd = "]}";

}  // namespace gcoord::server
