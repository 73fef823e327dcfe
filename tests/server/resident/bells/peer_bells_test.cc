#include "server/resident/bells/peer_bells.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::OwnedFd;

constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};

std::pair<OwnedFd, OwnedFd> sockets() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {OwnedFd{fds[0]}, OwnedFd{fds[1]}};
}

bool rings(const PeerBells& bells) {
  pollfd event{bells.event_fd(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

class PeerBellsTest : public testing::Test {
 protected:
  PeerBellsTest() {
    auto [here, there] = sockets();
    one_.keep(kTwo, std::move(here));
    two_.keep(kOne, std::move(there));
  }

  PeerBells one_;
  PeerBells two_;
};

TEST_F(PeerBellsTest, ARingWakesThePeerUntilItIsTaken) {
  EXPECT_FALSE(rings(two_));
  one_.ring(kTwo);
  one_.ring(kTwo);
  EXPECT_TRUE(rings(two_));
  EXPECT_FALSE(rings(one_));
  EXPECT_EQ(two_.take(), 1u);
  EXPECT_FALSE(rings(two_));
  EXPECT_EQ(two_.take(), 0u);
}

TEST_F(PeerBellsTest, APeerThatNeverTakesBlocksNobody) {
  for (int k = 0; k < 100'000; ++k) {
    one_.ring(kTwo);
  }
  EXPECT_EQ(one_.size(), 1u);
  int passes = 0;
  while (two_.take() != 0) {
    ++passes;
  }
  EXPECT_GT(passes, 0);
  one_.ring(kTwo);
  EXPECT_TRUE(rings(two_));
}

TEST_F(PeerBellsTest, APeerThatIsGoneHasNoBell) {
  two_ = PeerBells{};
  EXPECT_TRUE(rings(one_));
  one_.take();
  EXPECT_EQ(one_.size(), 0u);
  EXPECT_FALSE(rings(one_));
  one_.ring(kTwo);
}

TEST_F(PeerBellsTest, RingingNotesThatAPeerIsGone) {
  two_ = PeerBells{};
  one_.ring(kTwo);
  EXPECT_EQ(one_.size(), 0u);
}

TEST_F(PeerBellsTest, ANewChannelHasANewBell) {
  auto [here, there] = sockets();
  one_.keep(kTwo, std::move(here));
  EXPECT_EQ(one_.size(), 1u);
  two_.take();
  EXPECT_EQ(two_.size(), 0u);  // The last one was closed.
  two_.keep(kOne, std::move(there));
  two_.ring(kOne);
  EXPECT_TRUE(rings(one_));
}

TEST_F(PeerBellsTest, AForgottenPeerHasNoBellAtEitherEnd) {
  one_.forget(kTwo);
  EXPECT_EQ(one_.size(), 0u);
  two_.take();
  EXPECT_EQ(two_.size(), 0u);
}

TEST_F(PeerBellsTest, WhoHasNoBellIsNotRung) {
  one_.ring(kOne);
  EXPECT_FALSE(rings(one_));
  EXPECT_FALSE(rings(two_));
}

}  // namespace
}  // namespace gcoord::server
