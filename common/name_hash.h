// The identity of a name: a 128-bit collision-resistant hash, and the shard it lives in.
#pragma once

#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>
#include <string_view>

namespace gcoord {

// The first 16 bytes of SHA-256 over the name's bytes, as two little-endian words. {0, 0} stands
// for "no name".
struct NameHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  GCOORD_HD friend constexpr bool operator==(NameHash a, NameHash b) {
    return a.low == b.low && a.high == b.high;
  }

  GCOORD_HD friend constexpr bool operator!=(NameHash a, NameHash b) { return !(a == b); }
};

// Host only; thread-safe.
NameHash hash_name(std::string_view name);

// The shard of a name: hash mod shard_count. The same on every node and client of a cluster;
// shard_count > 0.
GCOORD_HD constexpr ShardId shard_of(NameHash hash, std::uint32_t shard_count) {
  return ShardId{static_cast<std::uint32_t>(hash.low % shard_count)};
}

}  // namespace gcoord
