// The case of a scan of deadlines that runs twice: by a group of one member (deadlines_test.cc) and
// by one of 32 (device_turn_warp_test.cc).
//
// A group is made of a model, opens a scan with it, and has three functions: scan() looks for rows
// that are due, note(opens) takes note of the rows that were stepped, after a new group has begun
// if `opens`, and turn() is the turn as its first member knows it.
#pragma once

#include "tests/server/device_turn/deadline_model.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::server {

template <typename Group>
class TurnDeadlines : public testing::Test {};

TYPED_TEST_SUITE_P(TurnDeadlines);

TYPED_TEST_P(TurnDeadlines, AScanFindsEveryRowThatIsDueOnce) {
  for (const std::uint32_t rows : kScannedRows) {
    SCOPED_TRACE(rows);
    DeadlineModel model(rows, 40 + rows);
    TypeParam group(model);
    for (std::uint32_t round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
      model.pass_time();
      group.scan();
      model.expect_found(group.turn());
      model.step_rows();
      group.note(round % 8 == 0);
    }
    EXPECT_GT(model.found(), 20u);
  }
}

REGISTER_TYPED_TEST_SUITE_P(TurnDeadlines, AScanFindsEveryRowThatIsDueOnce);

}  // namespace gcoord::server
