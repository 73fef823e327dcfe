// Flips one bit of one file that a stopped node left, and flips it back. Blocking.
#pragma once

#include "chaos/random/draw.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct BitFlip {
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::uint8_t mask = 0;
  std::uint8_t flipped = 0;  // The byte as it is now.
};

// Draws a file from the list by its used bytes, then a bit of it. Beyond the last byte that is not
// zero a file counts as unused: it is space that was reserved. NotFound when nothing is used.
Result<BitFlip> flip_bit(const std::vector<std::filesystem::path>& files, Draw& draw);

// Puts the bit back if the file still has the flipped byte there; whether it had.
bool flip_back(const BitFlip& flip);

// What a node keeps, by kind: its log of record, its checkpoint store, its identity.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

}  // namespace gcoord::chaos
