// What a node starts with, by its directory and its command line.
#include "server/start/node_start.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/identity_file.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"
#include "server/interfaces/errors.h"
#include "server/start/joining_directory.h"
#include "server/start/members_keeper.h"
#include "server/start/node_membership.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::ErrorCode;
using protocol::Member;
using protocol::MemberState;

constexpr ClusterId kCluster{77};
constexpr protocol::JoinToken kToken{std::byte{1}, std::byte{2}};

Member member(std::uint32_t id) {
  Member made;
  made.id = NodeId{id};
  made.name = "node-" + std::to_string(id);
  made.described = true;
  made.peer_address = "10.0.0." + std::to_string(id) + ":7500";
  made.client_address = "10.0.0." + std::to_string(id) + ":7400";
  return made;
}

ClusterView some_view() {
  ClusterView view{
      .epoch = 7,
      .settings = {.shards = 64, .tick_ms = 20, .election_ms = 2000, .heartbeat_ms = 200},
      .nodes = {member(1), member(2), member(3), member(4)}};
  view.nodes[1].state = MemberState::Removed;
  view.nodes[3].state = MemberState::Joining;
  return view;
}

class NodeStartTest : public testing::Test {
 protected:
  std::string directory() const { return folder_.path() / "data"; }

  Invocation invocation(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"--data-dir", directory()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto parsed = parse_invocation(arguments,
                                   [](const std::string&) { return std::optional<std::string>{}; });
    EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
    return std::move(parsed).value();
  }

  // Makes it the directory of node 4.
  void join() {
    auto joining = JoiningDirectory::open(directory(), 5).value();
    const Status finished = joining->finish({kCluster, NodeId{4}, some_view()}, kToken);
    ASSERT_TRUE(finished.ok()) << finished.to_string();
  }

  const ScratchFolder folder_;
};

TEST_F(NodeStartTest, WithoutADirectoryTheOptionsAreAll) {
  const auto start = node_start(invocation({"--node-id", "3", "--peer", "1=a:1"}));
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start.value().options().node, NodeId{3});
  EXPECT_EQ(start.value().options().peers.size(), 1u);
  EXPECT_EQ(start.value().kept.view().epoch, 0u);
}

TEST_F(NodeStartTest, TheDirectoryNamesNodeClusterPeersAndSettings) {
  join();
  const auto start = node_start(invocation());
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  const NodeOptions& options = start.value().options();
  EXPECT_EQ(options.node, NodeId{4});
  EXPECT_EQ(options.cluster, kCluster);
  EXPECT_EQ(options.shards, 64u);
  EXPECT_EQ(options.tick_ms, 20u);
  EXPECT_EQ(options.election_ms, 2000u);
  EXPECT_EQ(options.heartbeat_ms, 200u);
  ASSERT_EQ(options.peers.size(), 2u);  // The tombstone is none.
  EXPECT_EQ(options.peers[1].id, NodeId{3});
  EXPECT_EQ(to_string(options.peers[1].peer), "10.0.0.3:7500");
  EXPECT_EQ(to_string(options.peers[1].client), "10.0.0.3:7400");
  EXPECT_EQ(start.value().kept.joined_by, protocol::join_token_proof(kToken));
}

TEST_F(NodeStartTest, WhoNamesTheClusterThatWasGivenUpLearnsTheNewId) {
  join();
  const auto disk = ledger::PosixDisk::open_directory(directory()).value();
  const ClusterId old = cluster_id_of("prod");
  ASSERT_TRUE(ledger::write_former(*disk, {old, 5}).ok());
  const auto start = node_start(invocation());
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start.value().former->cluster, old);
  EXPECT_EQ(start.value().options().cluster, kCluster);
  for (const std::vector<std::string>& named : {std::vector<std::string>{"--cluster-name", "prod"},
                                                {"--cluster-id", std::to_string(old.value)}}) {
    const Status refused = node_start(invocation(named)).status();
    EXPECT_EQ(refused.detail(), ledger::kDirectoryCluster);
    EXPECT_NE(refused.message().find("give --cluster-id 77"), std::string::npos)
        << refused.message();
  }
}

TEST_F(NodeStartTest, BeforeAViewTheDirectoryOfAFormerClusterNamesNodeAndShards) {
  std::filesystem::create_directory(directory());
  const auto disk = ledger::PosixDisk::open_directory(directory()).value();
  ASSERT_TRUE(
      ledger::IdentityFile::create(*disk, {kCluster, NodeId{3}, 32, false}, 9, Incarnation{4})
          .ok());
  ASSERT_TRUE(ledger::write_former(*disk, {ClusterId{5}, 6}).ok());
  const auto start = node_start(invocation());
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start.value().options().node, NodeId{3});
  EXPECT_EQ(start.value().options().cluster, kCluster);
  EXPECT_EQ(start.value().options().shards, 32u);
  EXPECT_EQ(start.value().options().durability, Durability::Memory);
}

TEST_F(NodeStartTest, AnOptionThatIsGivenCountsBeforeTheView) {
  join();
  const auto start =
      node_start(invocation({"--tick-ms", "10", "--peer", "1=b:1", "--peer", "2=c:1"}));
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start.value().options().tick_ms, 10u);
  EXPECT_EQ(start.value().options().election_ms, 2000u);
  EXPECT_EQ(to_string(start.value().options().peers[0].peer), "b:1");
  EXPECT_EQ(start.value().options().peers.size(), 2u);
  EXPECT_EQ(start.value().notes.size(), 2u);
  EXPECT_EQ(contradiction(start.value().invocation, some_view()), "--tick-ms");
  EXPECT_EQ(contradiction(invocation({"--tick-ms", "20"}), some_view()), "");
}

// The view has it behind another port, or it has moved: only the operator knows.
TEST_F(NodeStartTest, ANodeThatListensEverywhereSaysWhereItIsFound) {
  join();
  const std::string view_has = some_view().nodes[3].client_address;
  const auto start = node_start(invocation(
      {"--listen-client", "0.0.0.0:9999", "--listen-peer", "127.0.0.1:9998", "--insecure"}));
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(to_string(start.value().options().advertise_client), view_has);
  EXPECT_EQ(to_string(start.value().options().advertise_peer), "127.0.0.1:9998");
  ASSERT_EQ(start.value().notes.size(), 1u);
  EXPECT_EQ(start.value().notes[0],
            "this node listens on 0.0.0.0:9999 and is found at " + view_has +
                ", where the view has it; if it has moved, give --advertise-client");
}

TEST_F(NodeStartTest, OptionsThatDoNotFitTheViewsAreRefused) {
  join();
  EXPECT_EQ(node_start(invocation({"--election-ms", "500"})).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::OptionInvalid));
}

TEST_F(NodeStartTest, ANodeThatHasLeftSaysSo) {
  join();
  const auto disk = ledger::PosixDisk::open_directory(directory()).value();
  KeptMembers kept = read_kept_members(*disk).value();
  kept.removed = true;
  ASSERT_TRUE(write_kept_members(*disk, kept).ok());
  EXPECT_EQ(node_start(invocation()).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::NodeRemoved));
  kept.removed = false;
  kept.members.view.nodes[3].state = MemberState::Removed;
  ASSERT_TRUE(write_kept_members(*disk, kept).ok());
  const Status refused = node_start(invocation()).status();
  EXPECT_EQ(refused.detail(), static_cast<std::uint32_t>(ErrorCode::NodeRemoved));
  EXPECT_NE(refused.message().find("node 4 \"node-4\""), std::string::npos) << refused.message();
}

TEST_F(NodeStartTest, AJoinKeepsItsDirectoryIdAndIsRefusedWhereANodeIs) {
  EXPECT_EQ(JoiningDirectory::open(directory(), 5).value()->directory_id(), 5u);
  EXPECT_EQ(node_start(invocation()).status().detail(), ledger::kDirectoryNode);
  auto again = JoiningDirectory::open(directory(), 6).value();
  EXPECT_EQ(again->directory_id(), 5u);
  EXPECT_EQ(JoiningDirectory::open(directory(), 7).status().detail(), ledger::kDirectoryLocked);
  ASSERT_TRUE(again->finish({kCluster, NodeId{4}, some_view()}, kToken).ok());
  again.reset();
  EXPECT_EQ(JoiningDirectory::open(directory(), 8).status().detail(), ledger::kDirectoryNode);
  const auto disk = ledger::PosixDisk::open_directory(directory()).value();
  EXPECT_EQ(ledger::IdentityFile::read(*disk).value()->directory_id(), 5u);
}

class MembersKeeperTest : public testing::Test {
 protected:
  MembersKeeper keeper(std::vector<PeerHint> given = {}) {
    NodeStart start;
    start.kept = read_kept_members(disk_).value();
    start.hints = AddressHints(given, start.kept.hints, start.kept.view());
    start.given = std::move(given);
    return MembersKeeper(disk_, start);
  }

  ledger::MemoryDisk disk_;
};

class UnlimitedRoom final : public ledger::DiskRoom {
 public:
  bool has(std::uint64_t) override { return true; }

  bool await_after_refusal() override { return false; }

  Result<std::uint64_t> await_room(const ledger::RoomWish& wish) override {
    return wish.wanted_bytes;
  }
};

// What only the others say, nothing proves: the next start asks them again.
TEST(NodeMembershipTest, ANodeKeepsThatItHasLeftOnlyByItsOwnView) {
  ScratchFolder folder;
  UnlimitedRoom room;
  MetricsRegistry metrics;
  NodeStart start;
  start.invocation.options.data_dir = folder.path().string();
  start.invocation.options.node = NodeId{3};
  start.kept.members.view = some_view();
  const auto disk = ledger::PosixDisk::open_directory(folder.path().string()).value();
  ASSERT_TRUE(write_kept_members(*disk, start.kept).ok());
  const auto open = [&] {
    return NodeMembership::open(
               start, {.room = room, .metrics = metrics, .go_by = [](const ClusterMembers&) {}})
        .value();
  };
  const Status said{StatusCode::FailedPrecondition, "peers refuse this node", kNodeRemoved};
  EXPECT_EQ(open()->ended(said).detail(), kNodeRemoved);
  EXPECT_FALSE(read_kept_members(*disk).value().removed);
  start.kept.members.view.nodes[2].state = MemberState::Removed;
  EXPECT_EQ(open()->ended(said).detail(), kNodeRemoved);
  EXPECT_TRUE(read_kept_members(*disk).value().removed);
}

TEST_F(MembersKeeperTest, BeforeTheFirstViewNothingIsWritten) {
  MembersKeeper keeper = this->keeper();
  ClusterView fixed;
  fixed.nodes = {member(1), member(2)};
  EXPECT_FALSE(keeper.take({fixed, {}}).value());
  EXPECT_TRUE(keeper.mark_removed().ok());
  EXPECT_TRUE(disk_.list().value().empty());
}

TEST_F(MembersKeeperTest, AViewIsDurableBeforeItCounts) {
  ASSERT_TRUE(keeper({{NodeId{3}, "c:3"}}).take({some_view(), {}}).value());
  disk_.lose_power(1);
  MembersKeeper next = keeper({{NodeId{3}, "c:3"}});
  EXPECT_EQ(next.members().view.epoch, 7u);
  EXPECT_EQ(next.members().view.nodes[2].peer_address, "c:3");  // --peer is this node's own way.
  ClusterView moved = some_view();
  moved.epoch = 8;
  moved.nodes[2].peer_address = "d:3";
  EXPECT_TRUE(next.take({moved, {}}).value());
  EXPECT_EQ(next.members().view.nodes[2].peer_address, "d:3");
  EXPECT_EQ(keeper({{NodeId{3}, "c:3"}}).members().view.nodes[2].peer_address, "d:3");
}

TEST_F(MembersKeeperTest, ALogThatIsBehindAddsItsVotersAndTakesNothingAway) {
  ASSERT_TRUE(keeper().take({some_view(), {}}).value());
  MembersKeeper next = keeper();
  ClusterView older = some_view();
  older.epoch = 5;
  older.nodes = {member(1), member(2)};
  EXPECT_TRUE(next.take({older, {}}).value());
  EXPECT_EQ(next.members().view.epoch, 7u);
  EXPECT_EQ(next.members().earlier_voters,
            (std::vector<std::vector<NodeId>>{{NodeId{1}, NodeId{2}}}));
  EXPECT_FALSE(next.take({older, {}}).value());
  EXPECT_TRUE(next.take({some_view(), {}}).value());
  EXPECT_TRUE(next.members().earlier_voters.empty());
}

TEST_F(MembersKeeperTest, OnAFullDiskAViewCountsAndIsKeptLater) {
  ASSERT_TRUE(keeper().take({some_view(), {}}).value());
  MembersKeeper full = keeper();
  ClusterView next = some_view();
  next.epoch = 8;
  disk_.set_capacity_bytes(0);
  EXPECT_TRUE(full.take({next, {}}).value());
  EXPECT_EQ(full.members().view.epoch, 8u);
  EXPECT_TRUE(full.unkept());
  EXPECT_EQ(read_kept_members(disk_).value().view().epoch, 7u);
  disk_.set_capacity_bytes(1 << 20);
  EXPECT_TRUE(full.retry().ok());
  EXPECT_FALSE(full.unkept());
  EXPECT_EQ(read_kept_members(disk_).value().view().epoch, 8u);
}

}  // namespace
}  // namespace gcoord::server
