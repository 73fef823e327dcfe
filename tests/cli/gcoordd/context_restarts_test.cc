// What holds up a restart of a node after a fault of its GPU does not hold it up for ever.
#include "cli/gcoordd/context_restarts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace gcoord {
namespace {

TEST(TimeLimit, WhatHangsIsLate) {
  std::promise<void> late;
  const TimeLimit limit(std::chrono::milliseconds{1}, [&] { late.set_value(); });
  EXPECT_EQ(late.get_future().wait_for(std::chrono::minutes{1}), std::future_status::ready);
}

TEST(TimeLimit, WhatEndsInTimeIsNotLate) {
  bool late = false;
  {
    const TimeLimit limit(std::chrono::hours{1}, [&] { late = true; });
  }
  EXPECT_FALSE(late);
}

}  // namespace
}  // namespace gcoord
