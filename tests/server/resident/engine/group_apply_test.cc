// Rows with several decided entries, which all members of a group apply in windows
// (server/device_turn/group_apply.h): their hosts apply the same one after another, and whatever
// differs stops a node. With a group of one; group_apply_warp_test.cc has one of 32.
#include "tests/server/resident/engine/group_apply_world.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

TEST(GroupApply, AThousandCommandsOfOneShardAreAnsweredInOrderByAllThreeNodes) {
  expect_pairs_in_windows(500);
}

// Windows are cut where they please, also between the pieces of a name.
TEST(GroupApply, WhatWindowsCannotHoldIsAppliedAsEver) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    expect_mixed_as_wanted(seed, 600);
  }
}

}  // namespace
}  // namespace gcoord::server
