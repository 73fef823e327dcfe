// Payload of the request to move the lock of a name to another shard: whereto 4, and the name.
//
// Pure functions; thread-safe. Decoding hostile bytes fails and reads nothing outside.
#pragma once

#include "common/ids.h"
#include "common/status.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

struct LockMove {
  ShardId to;
  std::string_view name;  // Points into what was decoded.
};

std::vector<std::byte> encode_move(const LockMove& move);
Result<LockMove> decode_move(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
