#include "security/records/replay_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace gcoord::security {
namespace {

using Verdict = ReplayWindow::Verdict;

// As a user of the window does.
bool take(ReplayWindow& window, std::uint64_t number) {
  if (window.judge(number) != Verdict::Fresh) {
    return false;
  }
  window.note(number);
  return true;
}

TEST(ReplayWindow, TakesTheFirstNumberWhateverItIs) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{63}, ~std::uint64_t{0}}) {
    ReplayWindow window;
    EXPECT_TRUE(take(window, first));
    EXPECT_EQ(window.judge(first), Verdict::Seen);
  }
}

TEST(ReplayWindow, TakesNumbersOutOfOrderWithinSixtyFourAndNoneBehind) {
  ReplayWindow window;
  ASSERT_TRUE(take(window, 100));
  EXPECT_EQ(window.judge(37), Verdict::Fresh);
  EXPECT_EQ(window.judge(36), Verdict::TooOld);
  EXPECT_TRUE(take(window, 37));
  EXPECT_FALSE(take(window, 37));
  ASSERT_TRUE(take(window, 101));
  EXPECT_EQ(window.judge(37), Verdict::TooOld);
  EXPECT_EQ(window.judge(38), Verdict::Fresh);
  EXPECT_EQ(window.oldest(), 38u);
}

TEST(ReplayWindow, JudgingChangesNothing) {
  ReplayWindow window;
  ASSERT_TRUE(take(window, 10));
  EXPECT_EQ(window.judge(~std::uint64_t{0}), Verdict::Fresh);
  EXPECT_TRUE(take(window, 9));
}

TEST(ReplayWindow, AgreesWithASetOfEverythingThatWasSeen) {
  std::mt19937_64 random{26};
  for (int round = 0; round < 200; ++round) {
    ReplayWindow window;
    std::set<std::uint64_t> seen;
    std::uint64_t newest = 0;
    for (int k = 0; k < 500; ++k) {
      const std::uint64_t far = random() % 8 == 0 ? 200 : 70;
      const std::uint64_t number = newest + random() % far - std::min(newest, random() % far);
      const bool behind = !seen.empty() && number + ReplayWindow::kNumbers <= newest;
      const Verdict expected = behind                  ? Verdict::TooOld
                               : seen.contains(number) ? Verdict::Seen
                                                       : Verdict::Fresh;
      ASSERT_EQ(window.judge(number), expected) << number << " of " << newest;
      if (expected == Verdict::Fresh) {
        window.note(number);
        seen.insert(number);
        newest = std::max(newest, number);
      }
    }
  }
}

}  // namespace
}  // namespace gcoord::security
