// Suspicion from arrival times, against values of the normal distribution.
#include "membership/failure_detector.h"

#include <gtest/gtest.h>

namespace gcoord::membership {
namespace {

constexpr FailureDetectorOptions kOptions{
    .interval_ticks = 10, .deviation_ticks_min = 5.0, .lapse_ticks = 100, .window = 4};

TEST(FailureDetector, Row115NothingIsSuspectedBeforeTheFirstHeartbeat) {
  const FailureDetector phi{kOptions};
  EXPECT_EQ(phi.phi(Tick{1'000'000}), 0.0);
}

// Mean 10, deviation 5: the chance of a later one is that of a normal value above 0, 1, 2, 4, 8
// deviations, 0.5, 0.158655, 0.0227501, 3.16712e-5 and 6.22096e-16.
TEST(FailureDetector, Row115IsTheLogarithmOfTheChanceThatOneComesLater) {
  FailureDetector phi{kOptions};
  phi.on_heartbeat(Tick{1000});
  EXPECT_NEAR(phi.phi(Tick{1000}), 0.00999, 0.00001) << "P = 0.977250";
  EXPECT_NEAR(phi.phi(Tick{1010}), 0.30103, 0.00001);
  EXPECT_NEAR(phi.phi(Tick{1015}), 0.79955, 0.00001);
  EXPECT_NEAR(phi.phi(Tick{1020}), 1.64302, 0.00001);
  EXPECT_NEAR(phi.phi(Tick{1030}), 4.49934, 0.00001);
  EXPECT_NEAR(phi.phi(Tick{1050}), 15.20614, 0.00001);
}

TEST(FailureDetector, Row115TakesMeanAndDeviationFromTheWindowAlone) {
  FailureDetector phi{kOptions};
  std::uint64_t now = 1000;
  phi.on_heartbeat(Tick{now});
  for (const std::uint64_t interval : {90u, 90u, 90u, 10u, 30u, 10u, 30u}) {
    phi.on_heartbeat(Tick{now += interval});
  }
  // 10, 30, 10, 30: the 90s and the expected 10 have left. Variance 100.
  EXPECT_DOUBLE_EQ(phi.mean(), 20.0);
  EXPECT_DOUBLE_EQ(phi.deviation(), 10.0);
  EXPECT_NEAR(phi.phi(Tick{now + 40}), 1.64302, 0.00001);
}

TEST(FailureDetector, Row115RegularHeartbeatsKeepTheLeastDeviation) {
  FailureDetector phi{kOptions};
  for (std::uint64_t now = 1000; now <= 1100; now += 10) {
    phi.on_heartbeat(Tick{now});
  }
  EXPECT_DOUBLE_EQ(phi.mean(), 10.0);
  EXPECT_DOUBLE_EQ(phi.deviation(), 5.0);
}

TEST(FailureDetector, Row115RisesWithSilenceUpToItsBound) {
  FailureDetector phi{kOptions};
  phi.on_heartbeat(Tick{1000});
  double before = 0.0;
  for (std::uint64_t now = 1000; now <= 1100; ++now) {
    EXPECT_GT(phi.phi(Tick{now}), before);
    before = phi.phi(Tick{now});
  }
  EXPECT_GT(before, 70.0);
  EXPECT_EQ(phi.phi(Tick{1'000'000}), FailureDetector::kPhiMax);
}

TEST(FailureDetector, Row115AnOutageIsNoInterval) {
  FailureDetector phi{kOptions};
  phi.on_heartbeat(Tick{1000});
  phi.on_heartbeat(Tick{1100});
  EXPECT_DOUBLE_EQ(phi.mean(), 10.0);
  EXPECT_LT(phi.phi(Tick{1100}), 0.01) << "it is back";
}

TEST(FailureDetector, Row115AnotherLifeBeginsAnew) {
  FailureDetector phi{kOptions};
  phi.on_heartbeat(Tick{1000});
  phi.on_heartbeat(Tick{1040});
  EXPECT_DOUBLE_EQ(phi.mean(), 25.0);
  phi.forget();
  EXPECT_DOUBLE_EQ(phi.mean(), 10.0);
  EXPECT_EQ(phi.phi(Tick{2000}), 0.0);
}

}  // namespace
}  // namespace gcoord::membership
