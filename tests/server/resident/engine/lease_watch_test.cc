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

  // The device's clock stands still, and nothing is asked meanwhile.
  void stand_still(std::uint64_t us) { now_us_ += us; }

  // Whether an answer under the lease is one that comes so late now.
  bool proves(std::uint64_t late_us = 0) const {
    return watch_.proves(Tick{1 + device_us_ / kTickUs}, now_us_ + late_us);
  }

  bool may_lease() const { return watch_.may_lease(now_us_); }

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

// Half of the margin, and two ticks for what ticks and a millisecond of the host's clock leave out.
constexpr std::uint64_t kBorneUs = (10 / 2 + 2) * kTickUs;

TEST(LeaseWatch, AnAnswerOfAClockThatStandsStillProvesNothingAtOnce) {
  Clocks clocks;
  clocks.pass(3, 100);
  EXPECT_TRUE(clocks.proves());
  clocks.stand_still(kBorneUs - kTickUs);
  EXPECT_TRUE(clocks.proves());
  clocks.stand_still(2 * kTickUs);
  EXPECT_FALSE(clocks.proves());
  EXPECT_TRUE(clocks.trusts()) << "by the windows, which are not over";
  clocks.pass(5, 100);
  EXPECT_FALSE(clocks.proves()) << "compared with what was before";
  clocks.pass(20, 100);
  EXPECT_TRUE(clocks.proves()) << "which is long ago";
}

TEST(LeaseWatch, ALateAnswerIsNoProofAndOneOfNoTickIsNone) {
  Clocks clocks;
  clocks.pass(3, 100);
  EXPECT_TRUE(clocks.proves(kBorneUs - kTickUs));
  EXPECT_FALSE(clocks.proves(kBorneUs + kTickUs));
  LeaseWatch watch(kTickUs, {});
  watch.note(Tick{1}, 1'000'000);
  watch.note(Tick{500}, 6'000'000);
  EXPECT_FALSE(watch.proves(Tick{~std::uint64_t{0}}, 6'000'000));
}

TEST(LeaseWatch, WithNothingToCompareWithReadsAskAQuorum) {
  Clocks clocks;
  EXPECT_FALSE(clocks.may_lease());
  clocks.pass(1, 100);
  EXPECT_FALSE(clocks.may_lease()) << "no answer is older than a lease";
  clocks.pass(1, 100);
  EXPECT_TRUE(clocks.may_lease());
  clocks.stand_still(11'000'000);
  EXPECT_FALSE(clocks.may_lease()) << "clocks drift";
  EXPECT_FALSE(clocks.proves());
  clocks.pass(2, 100);
  EXPECT_TRUE(clocks.may_lease());
}

}  // namespace
}  // namespace gcoord::server
