// Digest of a row's content in device memory, one word, for detecting that the memory changed.
//
// Why another digest than row_digest: this one is of the row as it lies in its table, packed or
// wide, so that every bit of it counts, and it is read on every step. Any one bit that flips
// changes it: each word enters by a bijection. What means nothing is left out: places of the pool
// that nobody has, the rest of a packed row whose row is wide, term runs beyond run_count. Never 0,
// which stands for "not known". Not for secrets, not for disk. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "consensus/device/packed_table.h"
#include "consensus/step/row_digest.h"

#include <cstdint>

namespace gcoord::consensus {

// Of a row whose place in the pool does not exist: no row has this digest.
inline constexpr std::uint64_t kDigestAstray = 1;

// Leaves out the two words that mean something else.
GCOORD_HD constexpr std::uint64_t plain_digest(std::uint64_t digest) {
  return digest <= kDigestAstray ? digest + 2 : digest;
}

// Of a packed row with its deadline.
GCOORD_HD inline std::uint64_t packed_digest(const PackedRow& packed, Tick deadline) {
  constexpr std::uint32_t kChunks = sizeof(PackedRow) / sizeof(MessageChunk);
  // Two chains side by side: a multiplication waits for the one before it.
  std::uint64_t low = mix64(deadline.value);
  std::uint64_t high = 0;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kChunks; ++k) {
    const MessageChunk chunk = load_packed_chunk(packed, k);
    low = mix64(low ^ chunk.word[0]);
    high = mix64(high ^ chunk.word[1]);
  }
  return plain_digest(mix64(low ^ mix64(high)));
}

// Of a wide row: its name in the table, its deadline there, its columns in the pool. `wide` bears
// the number of its place as its shard.
GCOORD_HD inline std::uint64_t wide_digest(const PackedRow& packed, Tick deadline, ShardRef wide) {
  const std::uint64_t name = mix64(mix64(packed.term) ^ packed.bits);
  return plain_digest(mix64(mix64(name ^ deadline.value) ^ row_digest(wide)));
}

GCOORD_HD inline bool has_place(const PackedTable& table, const PackedRow& packed) {
  return packed.term < table.wide.row_count;
}

// Of a row in its table.
GCOORD_HD inline std::uint64_t stored_digest(const PackedTable& table, std::uint32_t row) {
  GCOORD_ASSERT(row < table.row_count);
  const PackedRow& packed = table.packed[row];
  if (!is_wide(packed)) {
    return packed_digest(packed, table.deadline[row]);
  }
  if (!has_place(table, packed)) {
    return kDigestAstray;
  }
  const ShardRef wide(table.wide, static_cast<std::uint32_t>(packed.term));
  return wide_digest(packed, table.deadline[row], wide);
}

// --- A fault

GCOORD_HD inline void flip_bit(void* start, std::uint32_t bytes, std::uint64_t seed) {
  const std::uint32_t bit = random_below(mix64(seed), bytes * 8);
  static_cast<unsigned char*>(start)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
}

// Flips one bit that means something, of one row; the seed names both. What a cosmic ray does, for
// tests of who must find it.
GCOORD_HD inline void flip_stored_bit(const PackedTable& table, std::uint64_t seed) {
  const std::uint32_t row = random_below(random64(seed, 0, 0), table.row_count);
  const std::uint64_t bit = random64(seed, 0, 1);
  const std::uint32_t part = random_below(random64(seed, 0, 2), 8);
  PackedRow& packed = table.packed[row];
  if (part == 0) {
    return flip_bit(&table.deadline[row], sizeof(Tick), bit);
  }
  if (!is_wide(packed)) {
    return flip_bit(&packed, sizeof packed, bit);
  }
  if (part == 1 || !has_place(table, packed)) {
    return flip_bit(&packed.term, sizeof packed.term, bit);
  }
  const auto place = static_cast<std::uint32_t>(packed.term);
  if (part <= 3) {
    return flip_bit(&table.wide.hot[place], sizeof(Hot), bit);
  }
  part <= 5 ? flip_bit(&table.wide.log[place], sizeof(Log), bit)
            : flip_bit(&table.wide.configuration[place], sizeof(Configuration), bit);
}

}  // namespace gcoord::consensus
