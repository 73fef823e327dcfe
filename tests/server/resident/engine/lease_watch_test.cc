// Two clocks of one node that drift apart, and answers that come late.
#include "server/resident/engine/lease_watch.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kTickUs = 10'000;

// Answers ten times a second of a device whose clock runs at `percent` of the host's.
class Clocks {
 public:
  void pass(std::uint64_t seconds, std::uint64_t percent, std::uint64_t late_us = 0) {
    for (std::uint64_t k = 0; k < 10 * seconds; ++k) {
      now_us_ += 100'000;
      device_us_ += 1000 * percent;
      watch_.note(Tick{1 + device_us_ / kTickUs}, now_us_ + (k % 2) * late_us);
    }
  }

  bool trusts() const { return watch_.trusts(); }

 private:
  LeaseWatch watch_{kTickUs, {.election_ticks = 100, .lease_margin_ticks = 10}};
  std::uint64_t now_us_ = 1'000'000;
  std::uint64_t device_us_ = 0;
};

TEST(LeaseWatch, ClocksOfOneRateAreTrustedHoweverLateAnswersCome) {
  Clocks clocks;
  clocks.pass(60, 100);
  EXPECT_TRUE(clocks.trusts());
  clocks.pass(60, 100, 3'000'000);
  EXPECT_TRUE(clocks.trusts());
}

TEST(LeaseWatch, ADriftWithinHalfOfTheMarginIsBorneAndMoreIsFound) {
  for (const std::uint64_t percent : {96u, 104u}) {
    Clocks clocks;
    clocks.pass(60, percent);
    EXPECT_TRUE(clocks.trusts()) << percent;
  }
  for (const std::uint64_t percent : {50u, 90u, 110u, 200u}) {
    Clocks clocks;
    clocks.pass(30, percent);
    EXPECT_FALSE(clocks.trusts()) << percent;
  }
}

TEST(LeaseWatch, ClocksThatAgreeAgainAreTrustedAgain) {
  Clocks clocks;
  clocks.pass(30, 100);
  clocks.pass(30, 60);
  EXPECT_FALSE(clocks.trusts());
  clocks.pass(40, 100);
  EXPECT_TRUE(clocks.trusts());
}

}  // namespace
}  // namespace gcoord::server
