// What a pass may spend on storms: alone all of it, together in turn, and never twice.
#include "server/budget/pass_budget.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::server {
namespace {

using enum WorkClass;

class PassBudgetTest : public testing::Test {
 protected:
  MetricsRegistry metrics_;
  PassBudget budget_{metrics_};
};

TEST_F(PassBudgetTest, WorkThatIsNoStormHasAQuantumInEachPass) {
  for (int pass = 0; pass < 3; ++pass) {
    budget_.begin_pass();
    for (const WorkClass work : {SessionEnds, WaitEnds, WatchMessages, LostConnections}) {
      EXPECT_EQ(budget_.left(work), kQuantumUnits);
    }
  }
  EXPECT_FALSE(budget_.behind());
}

TEST_F(PassBudgetTest, OneStormAloneHasAllOfThePass) {
  budget_.begin_pass();
  budget_.spend(WatchMessages, kQuantumUnits);
  budget_.put_off(WatchMessages, true);
  EXPECT_TRUE(budget_.behind());
  budget_.begin_pass();
  EXPECT_EQ(budget_.left(WatchMessages), kPassUnits);
  EXPECT_EQ(budget_.left(WaitEnds), kQuantumUnits) << "what begins now need not wait";
  budget_.put_off(WatchMessages, false);
  EXPECT_FALSE(budget_.behind());
  budget_.begin_pass();
  EXPECT_EQ(budget_.left(WatchMessages), kQuantumUnits) << "what is not used is lost";
}

// Whatever the number of storms, and also where a pass does not divide evenly among them.
TEST_F(PassBudgetTest, StormsTogetherSpendEquallyAndAPassAtMost) {
  const std::array works = {SessionEnds, WatchMessages, LostConnections};
  std::array<std::size_t, 3> spent{};
  constexpr std::size_t kPasses = 300;
  for (const WorkClass work : works) {
    budget_.spend(work, budget_.left(work));
    budget_.put_off(work, true);
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    budget_.begin_pass();
    std::size_t together = 0;
    for (std::size_t k = 0; k < works.size(); ++k) {
      const std::size_t units = budget_.left(works[k]);
      budget_.spend(works[k], units);
      spent[k] += units;
      together += units;
    }
    EXPECT_EQ(together, kPassUnits);
  }
  for (const std::size_t units : spent) {
    EXPECT_EQ(units, kPasses * kPassUnits / 3);
  }
}

TEST_F(PassBudgetTest, WhatWasSpentBeyondTheCreditIsTakenFromTheNext) {
  budget_.begin_pass();
  budget_.spend(WaitEnds, kQuantumUnits + 100);
  EXPECT_EQ(budget_.left(WaitEnds), 0u);
  budget_.begin_pass();
  EXPECT_EQ(budget_.left(WaitEnds), kQuantumUnits - 100);
  budget_.put_off(WaitEnds, true);
  budget_.begin_pass();
  budget_.begin_pass();
  EXPECT_EQ(budget_.left(WaitEnds), kPassUnits) << "what is not used does not pile up";
}

}  // namespace
}  // namespace gcoord::server
