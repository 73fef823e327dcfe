// A digest of everything that a row means, equal on every stepper that stepped it the same way.
//
// Why: parity between steppers is checked on all columns of all rows after every tick, and eight
// bytes a row travel faster than four hundred. What is not meant (term runs beyond run_count) is
// left out, because a stepper may keep rows in another form than columns (packed_row.h). Not for
// secrets, not for disk. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "consensus/step/shard_table.h"

#include <cstdint>
#include <cstring>

namespace gcoord::consensus {

// Folds the bytes of one element into a digest, eight at a time; every element's size is a multiple
// of eight.
template <typename T>
GCOORD_HD std::uint64_t fold(std::uint64_t digest, const T& element) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  static_assert(alignof(T) >= alignof(std::uint32_t));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&element);
  for (std::size_t at = 0; at < sizeof(T); at += sizeof(std::uint64_t)) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, __builtin_assume_aligned(bytes + at, sizeof low), sizeof low);
    std::memcpy(&high, __builtin_assume_aligned(bytes + at + sizeof low, sizeof high), sizeof high);
    digest = mix64(digest ^ (low | static_cast<std::uint64_t>(high) << 32));
  }
  return digest;
}

// The runs that are meant, the others as zero.
GCOORD_HD inline LogRuns meant_runs(const Log& log, const LogRuns& runs) {
  LogRuns meant;
  for (std::uint32_t k = 0; k < kRunSlots; ++k) {
    meant.start_offset[k] = k < log.run_count ? runs.start_offset[k] : 0;
    meant.term_offset[k] = k < log.run_count ? runs.term_offset[k] : 0;
  }
  return meant;
}

GCOORD_HD inline std::uint64_t row_digest(ShardRef shard) {
  std::uint64_t digest = shard.shard().value;
  digest = fold(digest, shard.hot());
  digest = fold(digest, shard.log());
  digest = fold(digest, meant_runs(shard.log(), shard.runs()));
  digest = fold(digest, shard.storage());
  digest = fold(digest, shard.election());
  digest = fold(digest, shard.configuration());
  for (std::uint32_t slot = 0; slot < shard.slot_count(); ++slot) {
    digest = fold(digest, shard.progress(slot));
  }
  return digest;
}

}  // namespace gcoord::consensus
