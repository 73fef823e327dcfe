// The records of the cluster log's files (cluster_log.h), sealed and checked. Plain functions;
// thread-safe.
#pragma once

#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/status.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/hash.h"
#include "ledger/notes/shard_head.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::ledger::cluster_record {

inline constexpr std::size_t kCrcBytes = 4;
inline constexpr std::size_t kLeafRecordBytes = kShardHeadBytes + kCrcBytes;
inline constexpr std::size_t kTileRecordBytes = kMerkleHashBytes + kCrcBytes;
inline constexpr std::uint32_t kTileLevel = 8;
inline constexpr std::uint64_t kTileLeaves = 1u << kTileLevel;
static_assert(kLeafRecordBytes == 48 && kTileRecordBytes == 36);

// A record's place is under its checksum, so that one that strayed is found.
inline std::uint32_t checksum(std::uint64_t index, std::span<const std::byte> bytes) {
  std::array<std::byte, 8> place;
  store(place.data(), index);
  return crc32c(bytes, crc32c(place));
}

inline void seal(std::uint64_t index, std::span<std::byte> record) {
  const auto body = record.first(record.size() - kCrcBytes);
  store(&record[body.size()], checksum(index, body));
}

inline bool sealed(std::uint64_t index, std::span<const std::byte> record) {
  const auto body = record.first(record.size() - kCrcBytes);
  return load<std::uint32_t>(&record[body.size()]) == checksum(index, body);
}

inline Status rot(std::uint64_t index) {
  return Status{StatusCode::DataLoss,
                "leaf " + std::to_string(index) + " of the cluster log is damaged" + kRotAdvice,
                kClusterLogRot};
}

// The root of a perfect tree over these hashes, a power of two of them.
inline MerkleHash join(std::vector<MerkleHash> hashes) {
  while (hashes.size() > 1) {
    for (std::size_t k = 0; k < hashes.size() / 2; ++k) {
      hashes[k] = hash_node(hashes[2 * k], hashes[2 * k + 1]);
    }
    hashes.resize(hashes.size() / 2);
  }
  return hashes.front();
}

}  // namespace gcoord::ledger::cluster_record
