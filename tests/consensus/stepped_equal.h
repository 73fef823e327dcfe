// What two compilations of the step gave, compared so that a test says what differs.
#pragma once

#include "tests/consensus/stepped_pairs.h"

#include <gtest/gtest.h>

namespace gcoord::consensus {

// `plain` is what a plain or steady step gave, `whole` what the whole one did.
inline void expect_equal(Stepped& plain, Stepped& whole) {
  for_each_pair(plain, whole, [](const auto& one, const auto& other) { EXPECT_EQ(one, other); });
}

}  // namespace gcoord::consensus
