// When resident nodes begin; how those of one host find each other by sockets, and that whoever
// hangs up at once does not keep the looking thread busy.
#include "server/resident/links/descriptor_exchange.h"

#include "server/resident/links/start_barrier.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace gcoord::server {
namespace {

constexpr ResidentMeeting kAllMet{.established = true};

// Fault 24 of docs/internals/faults.md: two empty directories, and a third node that is down and
// remembers.
TEST(ResidentBegin, NobodyBeginsBesideANodeThatMayRememberAnotherDirectory) {
  EXPECT_FALSE(may_begin({.all_ready = true, .waited_ms = 100 * kMeetPatienceMs}));
  EXPECT_FALSE(may_begin({}));
}

TEST(ResidentBegin, WhoHasPromisedGoesOnAlone) {
  EXPECT_TRUE(may_begin({.promised = true}));
}

TEST(ResidentBegin, ThoseWhoHaveMetWaitForEachOtherButNotForEver) {
  ResidentMeeting meeting = kAllMet;
  EXPECT_FALSE(may_begin(meeting));
  meeting.waited_ms = kMeetPatienceMs;
  EXPECT_TRUE(may_begin(meeting));
  meeting = kAllMet;
  meeting.all_ready = true;
  EXPECT_TRUE(may_begin(meeting));
}

constexpr auto kPatience = std::chrono::seconds{60};  // Only bounds a failure.

// Sockets lie where temporary files do: in a folder of this test.
class ResidentJoinTest : public testing::Test {
 protected:
  ResidentJoinTest() { setenv("TMPDIR", folder_.path().c_str(), 1); }

  ~ResidentJoinTest() override { unsetenv("TMPDIR"); }

  static ResidentJoinOptions options_of(std::uint32_t self, std::uint32_t peer) {
    ResidentJoinOptions options;
    options.self = NodeId{self};
    options.port = static_cast<std::uint16_t>(100 + self);
    options.peers = {{NodeId{peer}, static_cast<std::uint16_t>(100 + peer)}};
    return options;
  }

  static std::optional<ResidentJoin::Found> await(ResidentJoin& join) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    auto found = join.take();
    while (!found.has_value() && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      found = join.take();
    }
    return found;
  }

  const ScratchFolder folder_;
};

TEST_F(ResidentJoinTest, TwoThatSeekEachOtherFindEachOtherAgainAndAgain) {
  ResidentJoin one(options_of(1, 2));
  ResidentJoin two(options_of(2, 1));
  for (int round = 0; round < 3; ++round) {
    one.seek(NodeId{2});
    two.seek(NodeId{1});
    const auto here = await(one);
    const auto there = await(two);
    ASSERT_TRUE(here.has_value() && there.has_value()) << round;
    EXPECT_EQ(here->peer, NodeId{2});
    EXPECT_EQ(there->peer, NodeId{1});
  }
}

// A folder in which the names of some sockets are too long: that is told each time that such a peer
// is sought, and the others are found.
TEST_F(ResidentJoinTest, APeerThatCannotBeLookedForIsToldAndTheOthersAreFound) {
  constexpr std::size_t kFolderBytes = 90;  // "gcoord-turn-1-2" still fits there.
  const std::string folder = folder_.path().string() + "/";
  if (folder.size() >= kFolderBytes) {
    GTEST_SKIP() << "skipped: the path of the build tree is too long";
  }
  const std::string deep = folder + std::string(kFolderBytes - folder.size(), 'd');
  std::filesystem::create_directory(deep);
  setenv("TMPDIR", deep.c_str(), 1);
  ResidentJoinOptions options{NodeId{2}, {{NodeId{1}, 1}, {NodeId{3}, 3}}, 10'002};
  ResidentJoin two(options);
  for (int round = 0; round < 2; ++round) {
    two.seek(NodeId{3});
    const auto told = await(two);
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->peer, NodeId{3});
    EXPECT_FALSE(told->looked.ok());
    EXPECT_FALSE(told->socket.valid());
  }
  ResidentJoin one({NodeId{1}, {{NodeId{2}, 10'002}}, 1});
  one.seek(NodeId{2});
  two.seek(NodeId{1});
  const auto found = await(two);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->peer, NodeId{1});
  EXPECT_TRUE(found->looked.ok() && found->socket.valid());
}

// However fast the machine: so many calls take that long at least.
TEST_F(ResidentJoinTest, WhoHangsUpAtOnceIsCalledAgainOnlyAfterAWhile) {
  constexpr int kCalls = 12;
  auto listener = netcore::listen_at(resident_socket_path(101, NodeId{2}));
  ASSERT_TRUE(listener.ok());
  ResidentJoin two(options_of(2, 1));
  const auto began = std::chrono::steady_clock::now();
  two.seek(NodeId{1});
  for (int call = 0; call < kCalls; ++call) {
    ASSERT_TRUE(netcore::accept_at(listener.value(), 60'000).ok());  // And closed at once.
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds{20} * (kCalls - 1));
  EXPECT_FALSE(two.take().has_value());
}

}  // namespace
}  // namespace gcoord::server
