// SHA-256 (FIPS 180-4) of two messages side by side, a block of each at a time.
//
// A round of SHA-256 waits for the one before it, so a processor with instructions for it is half
// idle with one message: two take little longer than one. The same words as sha256_block.h gives,
// on every processor. Pure; thread-safe; host only.
#pragma once

#include "common/sha256_block.h"

namespace gcoord {

// The states of two messages, which are two objects.
struct Sha256Pair {
  Sha256Words& first;
  Sha256Words& second;
};

// Takes one more block into each state.
void sha256_add_two_blocks(const Sha256Pair& states, const Sha256Block (&blocks)[2]);

}  // namespace gcoord
