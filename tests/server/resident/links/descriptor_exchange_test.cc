// When resident nodes begin; how those of one host find each other by sockets, and that whoever
// hangs up at once does not keep the looking thread busy.
#include "server/resident/links/descriptor_exchange.h"

#include "server/resident/links/start_barrier.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

class ResidentJoinTest : public testing::Test {
 protected:
  // Of node n.
  SocketFolder folder_of(std::uint32_t n) const {
    const std::filesystem::path path = folder_.path() / ("node-" + std::to_string(n));
    std::filesystem::create_directory(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return find_socket_folder(path.string()).value();
  }

  ResidentJoinOptions options_of(std::uint32_t self, std::vector<NodeId> peers) const {
    return {NodeId{self}, std::move(peers), folder_of(self)};
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
  ResidentJoin one(options_of(1, {NodeId{2}}));
  ResidentJoin two(options_of(2, {NodeId{1}}));
  for (int round = 0; round < 3; ++round) {
    one.seek(NodeId{2}, folder_of(2));
    two.seek(NodeId{1}, folder_of(1));
    const auto here = await(one);
    const auto there = await(two);
    ASSERT_TRUE(here.has_value() && there.has_value()) << round;
    EXPECT_EQ(here->peer, NodeId{2});
    EXPECT_EQ(there->peer, NodeId{1});
  }
}

// Issue 23, A18: anybody could take the name in the folder for temporary files, and see who waits.
TEST_F(ResidentJoinTest, ANodeWaitsInItsOwnFolderAndLeavesNothingThere) {
  const std::filesystem::path socket = folder_.path() / "node-1" / "turn-2.sock";
  {
    ResidentJoin one(options_of(1, {NodeId{2}}));
    one.seek(NodeId{2}, folder_of(2));
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!std::filesystem::exists(socket) && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(std::filesystem::exists(socket));
  }
  EXPECT_FALSE(std::filesystem::exists(socket));
}

// One whose folder is not what was told: that is told each time that such a peer is sought, and the
// others are found.
TEST_F(ResidentJoinTest, APeerThatCannotBeLookedForIsToldAndTheOthersAreFound) {
  SocketFolder other = folder_of(1);
  ++other.inode;
  ResidentJoin three(options_of(3, {NodeId{1}, NodeId{2}}));
  for (int round = 0; round < 2; ++round) {
    three.seek(NodeId{1}, other);
    const auto told = await(three);
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->peer, NodeId{1});
    EXPECT_FALSE(told->looked.ok());
    EXPECT_FALSE(told->socket.valid());
  }
  ResidentJoin two(options_of(2, {NodeId{3}}));
  two.seek(NodeId{3}, folder_of(3));
  three.seek(NodeId{2}, folder_of(2));
  const auto found = await(three);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->peer, NodeId{2});
  EXPECT_TRUE(found->looked.ok() && found->socket.valid());
}

// However fast the machine: so many calls take that long at least.
TEST_F(ResidentJoinTest, WhoHangsUpAtOnceIsCalledAgainOnlyAfterAWhile) {
  constexpr int kCalls = 12;
  const auto folder = open_socket_folder(folder_of(1));
  ASSERT_TRUE(folder.ok());
  auto listener = netcore::listen_at(socket_path(folder.value(), NodeId{2}));
  ASSERT_TRUE(listener.ok());
  ResidentJoin two(options_of(2, {NodeId{1}}));
  const auto began = std::chrono::steady_clock::now();
  two.seek(NodeId{1}, folder_of(1));
  for (int call = 0; call < kCalls; ++call) {
    ASSERT_TRUE(netcore::accept_at(listener.value(), 60'000).ok());  // And closed at once.
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds{20} * (kCalls - 1));
  EXPECT_FALSE(two.take().has_value());
}

}  // namespace
}  // namespace gcoord::server
