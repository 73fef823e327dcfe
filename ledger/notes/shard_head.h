// A shard head: what the cluster log says of one shard. A leaf of the cluster log is a head.
//
// The bytes of a leaf, little-endian, never to be renumbered: shard u32, size u64, root 32 bytes.
// They are hashed as they stand, so an auditor who knows a shard's size and root can make the leaf
// himself; 44 bytes are one SHA-256 compression. Thread-safe; host only.
#pragma once

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::ledger {

inline constexpr std::size_t kShardHeadBytes = 4 + 8 + kMerkleHashBytes;

struct ShardHead {
  ShardId shard;
  std::uint64_t size = 0;  // Entries of the shard's tree.
  MerkleHash root{};       // Of that tree.

  friend bool operator==(const ShardHead& a, const ShardHead& b) = default;
};

using ShardHeadBytes = std::array<std::byte, kShardHeadBytes>;

ShardHeadBytes encode_head(const ShardHead& head);

// A head among other bytes, as encode_head() makes them; reading fails as the reader does.
void write_head(ByteWriter& out, const ShardHead& head);
ShardHead read_head(ByteReader& in);

// Any bytes of the right length are a head; whether it is true is another question. Failure:
// InvalidArgument (kShardHeadMalformed).
Result<ShardHead> decode_head(std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
