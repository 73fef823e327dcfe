// A shard's value in the checkpoint store of a resident node: the service's state, and before it
// what a device's log needs beside it (docs/adr/0029, 0131).
//
//   index 8, index behind the pieces 8, count of pieces 4, marks 4
//   then the pieces, one entry of 64 bytes each, and then the service's own bytes
//
// Pieces are entries of a name or a record whose last entry was not decided at `index`; whoever
// takes the state without its log lets them go. Empty bytes are the initial state. On disk: never
// change the order. Pure; thread-safe.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Of the shard's log up to `index`. Never renumber.
inline constexpr std::uint32_t kHasRecords = 1;  // locks/commands/entry_record.h
inline constexpr std::uint32_t kHasStamps = 2;   // server/interfaces/entry_stamp.h

struct StoredHead {
  std::uint64_t index = 0;  // Up to which the state has what was decided.
  std::uint64_t pieces_next = 0;
  std::uint32_t piece_count = 0;
  std::uint32_t marks = 0;  // Bits above; 0 of earlier releases.
};

static_assert(sizeof(StoredHead) == 24);

struct StoredParts {
  StoredHead head;
  std::span<const std::byte> pieces;
  std::span<const std::byte> service;
};

// Nothing for what no node writes. Of empty bytes all parts are empty.
std::optional<StoredParts> split_stored_state(std::span<const std::byte> bytes);

// Begins a value; `pieces` are head.piece_count entries. The service's bytes follow.
void begin_stored_state(std::vector<std::byte>& bytes,
                        const StoredHead& head,
                        std::span<const std::byte> pieces);

}  // namespace gcoord::server
