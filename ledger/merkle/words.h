// The hashes of RFC 6962 section 2.1 as words: leaves and nodes of many trees at a time.
//
// The same hashes as merkle_hash.h, for code that also runs on a device. A record of at most 54
// bytes is one block of SHA-256 as a leaf; a node is always two, and of the second all but one byte
// is the same for every node, which the compiler makes use of. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "common/sha256_block.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::ledger {

// The longest record whose leaf is one block: 64 bytes less prefix, end mark and length.
inline constexpr std::uint32_t kOneBlockRecordBytes = 54;

// A record in the payload of a turn.
struct LeafExtent {
  std::uint64_t offset = 0;  // In bytes; a multiple of 4.
  std::uint32_t length = 0;  // In bytes.
  std::uint32_t reserved = 0;
};

GCOORD_HD inline std::uint32_t most_significant_first(std::uint32_t word) {
  return word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) | word >> 24;
}

// Word i of a record with SHA-256's end mark behind it and zeros behind that. Reads the whole word
// that the record's last byte lies in.
GCOORD_HD inline std::uint32_t record_word(const std::uint32_t* record,
                                           std::uint32_t length,
                                           std::uint32_t i) {
  const std::uint32_t left = length - 4 * i;
  if (4 * i + 4 <= length) {
    return most_significant_first(record[i]);
  }
  if (4 * i > length) {
    return 0;
  }
  const std::uint32_t end_mark = 0x80000000u >> (8 * left);
  return left == 0 ? end_mark
                   : (most_significant_first(record[i]) & ~(0xffffffffu >> (8 * left))) | end_mark;
}

// SHA-256(0x00 || record).
GCOORD_HD_FLAT Sha256Words hash_leaf_words(const std::byte* payload, const LeafExtent& extent) {
  const auto* record = reinterpret_cast<const std::uint32_t*>(payload + extent.offset);
  const std::uint32_t length = extent.length;
  const std::uint32_t block_count = (length + 1 + 9 + 63) / 64;
  Sha256Words state = sha256_start();
  std::uint32_t before = 0;  // The prefix: a zero byte.
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t b = 0; b < block_count; ++b) {
    Sha256Block block;
    GCOORD_UNROLL
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t word = record_word(record, length, 16 * b + i);
      block.word[i] = before << 24 | word >> 8;
      before = word;
    }
    if (b == block_count - 1) {
      const std::uint64_t bits = (std::uint64_t{length} + 1) * 8;
      block.word[14] = static_cast<std::uint32_t>(bits >> 32);
      block.word[15] = static_cast<std::uint32_t>(bits);
    }
    sha256_add_block(state, block);
  }
  return state;
}

// SHA-256(0x01 || left || right).
GCOORD_HD_FLAT Sha256Words hash_node_words(const Sha256Words& left, const Sha256Words& right) {
  constexpr std::uint32_t kNodeBits = (1 + 2 * 32) * 8;
  Sha256Words state = sha256_start();
  Sha256Block block;
  std::uint32_t before = 0x01;
  GCOORD_UNROLL
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t word = i < 8 ? left.word[i & 7] : right.word[i & 7];
    block.word[i] = before << 24 | word >> 8;
    before = word;
  }
  // One body for both blocks: instructions are dearer than the words that could be known before.
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t b = 0; b < 2; ++b) {
    sha256_add_block(state, block);
    GCOORD_UNROLL
    for (std::uint32_t i = 1; i < 15; ++i) {
      block.word[i] = 0;
    }
    block.word[0] = before << 24 | 0x00800000;
    block.word[15] = kNodeBits;
  }
  return state;
}

// The root of a tree without leaves: SHA-256 of nothing.
GCOORD_HD inline Sha256Words empty_root_words() {
  return {{0xe3b0c442,
           0x98fc1c14,
           0x9afbf4c8,
           0x996fb924,
           0x27ae41e4,
           0x649b934c,
           0xa495991b,
           0x7852b855}};
}

}  // namespace gcoord::ledger
