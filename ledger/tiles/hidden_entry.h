// A stand-in for an entry that a source does not give to everybody: what it puts in the entry's
// place in a bundle.
//
//   mark       8 bytes, kHiddenEntryMark
//   leaf      32 bytes, the hash of the entry
//   shown     the rest: what the source says of the entry; empty: nothing
//
// The leaf is proven by the tree like any other, so a reader can still check that an entry with
// this hash has this place. `shown` is the source's word and is proven by nothing. An entry that
// only looks like a stand-in is one: whoever compares hashes the bytes first. Pure functions;
// thread-safe.
#pragma once

#include "ledger/merkle/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::ledger {

// No record begins so: kinds of records are small numbers. The last byte is the version.
inline constexpr std::array<std::byte, 8> kHiddenEntryMark{std::byte{0xff},
                                                           std::byte{'h'},
                                                           std::byte{'i'},
                                                           std::byte{'d'},
                                                           std::byte{'d'},
                                                           std::byte{'e'},
                                                           std::byte{'n'},
                                                           std::byte{1}};

// The one shard whose log has entries to hide: that of users and roles. A stand-in in any other log
// is not believed.
inline constexpr std::uint32_t kHidingShard = 0;

struct HiddenEntry {
  MerkleHash leaf{};
  std::span<const std::byte> shown;  // Into the bytes that were parsed.
};

// The stand-in for `entry`, of which `shown` is said.
std::vector<std::byte> hidden_entry(std::span<const std::byte> entry,
                                    std::span<const std::byte> shown);

// Nothing: the bytes are no stand-in.
std::optional<HiddenEntry> parse_hidden_entry(std::span<const std::byte> bytes);

// Whether the bytes stand for the entry of this leaf: as the entry itself, or hidden.
enum class EntryMatch : unsigned char { None, Whole, Hidden };

EntryMatch match_entry(std::span<const std::byte> bytes, const MerkleHash& leaf);

// The leaf that the bytes stand for, if they are of who is believed to hide entries alone.
MerkleHash leaf_of_entry(std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
