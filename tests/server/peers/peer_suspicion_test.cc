// Suspicion of peers from the heartbeats that the node hears of them
// (membership/failure_detector.h).
#include "server/peers/peers.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

class PeerSuspicion : public ::testing::Test {
 protected:
  void hear(std::uint32_t incarnation, std::uint64_t sent, std::uint64_t now) {
    const consensus::Heartbeat heartbeat{.incarnation = Incarnation{incarnation},
                                         .send = Tick{sent}};
    peers_.on_heartbeat(NodeId{2}, heartbeat, Tick{now});
  }

  std::vector<netcore::PeerAddress> addresses_{{NodeId{2}, "127.0.0.1", 1}};
  ReplicaPeers peers_{addresses_, Incarnation{1}, {}, consensus::Durability::Durable};
};

// Half an interval of 10 ticks is the least deviation, so two intervals late are 4 deviations.
TEST_F(PeerSuspicion, Row115RisesWellBeforeTheElectionTimeout) {
  EXPECT_EQ(peers_.phi(0, Tick{100}), 0.0);
  for (std::uint64_t now = 100; now <= 300; now += 10) {
    hear(1, now, now);
  }
  EXPECT_NEAR(peers_.phi(0, Tick{310}), 0.30103, 0.00001);
  EXPECT_NEAR(peers_.phi(0, Tick{330}), 4.49934, 0.00001);
  EXPECT_EQ(peers_.records()[0].heard, Tick{300});
}

TEST_F(PeerSuspicion, Row115WordsThatCameOutOfOrderAreNotHeard) {
  hear(1, 100, 100);
  hear(1, 90, 130);
  EXPECT_NEAR(peers_.phi(0, Tick{130}), 4.49934, 0.00001);
}

TEST_F(PeerSuspicion, Row115ARestartIsNoInterval) {
  hear(1, 100, 100);
  hear(2, 5, 160);
  EXPECT_NEAR(peers_.phi(0, Tick{170}), 0.30103, 0.00001);
}

}  // namespace
}  // namespace gcoord::server
