// Selection of the multiprocessors that hash for a node, so that turns have the others to
// themselves.
//
// As many blocks are launched as fill the device. Those that begin elsewhere leave at once, and so
// do those that are one too many. Which of the others is which is of no matter: each takes a number
// when it begins, and follows the chunks of that number. Host and device.
#pragma once

#include "common/device/block_device.h"
#include "common/device/device_atomic.h"
#include "common/device/processor_device.h"
#include "common/hd.h"
#include "ledger/trees/follow.h"

#include <cstdint>

namespace gcoord::chaos {

struct TreeAddress {
  std::uint32_t first = 0;  // Multiprocessors [first, first + count).
  std::uint32_t count = 0;
  std::uint32_t* taken = nullptr;  // Numbers that were taken; of the device.
};

struct PlacedBlock {
  ledger::FollowBlock follow;
  std::uint32_t number;
};

// What a block of threads does from its beginning to its end.
template <typename Log>
GCOORD_HD void follow_in_place(const ledger::MerkleFollower& follower,
                               const Log& log,
                               const TreeAddress& place,
                               PlacedBlock& shared) {
  if (device_processor() - place.first >= place.count) {
    return;
  }
  if (block_rank() == 0) {
    shared.number = relaxed_add(*place.taken, 1);
  }
  block_meet();
  if (shared.number < follower.block_count) {
    ledger::follow(follower, log, shared.number, shared.follow);
  }
}

}  // namespace gcoord::chaos
