// Nodes that come and go, as the leader of shard 0 takes and proposes it: over a log that decides
// when the test says so.
#include "server/members/member_changes.h"

#include "protocol/error_codes.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/join_messages.h"
#include "server/members/node_members.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using membership::ClusterView;
using protocol::ErrorCode;
using protocol::MemberAction;
using protocol::MemberActionOrder;
using protocol::MemberRole;
using protocol::MemberState;
using protocol::RequestKind;

constexpr std::uint32_t kShards = 8;

class FakeLog final : public ReplicatedLog {
 public:
  struct Proposal {
    std::vector<std::byte> bytes;
    std::uint64_t cookie = 0;
  };

  FakeLog() {
    node.node = NodeId{1};
    node.cluster = ClusterId{77};
    node.shard_count = kShards;
    for (std::uint32_t id = 2; id <= 9; ++id) {
      NodePeerView peer;
      peer.link.id = NodeId{id};
      peer.live = id <= 3;
      node.peers.push_back(peer);
    }
  }

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    EXPECT_EQ(shard, kViewShard);
    proposals.push_back({{proposed.bytes.begin(), proposed.bytes.end()}, cookie});
    written.insert(written.end(), proposed.bytes.begin(), proposed.bytes.end());
  }

  void read(ShardId, std::uint64_t) override {}

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return true; }

  ShardView view(ShardId shard) const override {
    ShardView row;
    row.shard = shard;
    row.role = leads ? consensus::Role::Leader : consensus::Role::Follower;
    row.leader = leads ? NodeId{1} : NodeId{2};
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      row.configuration.node[slot] = NodeId{slot + 1};
      row.configuration.voters |= consensus::slot_bit(slot);
    }
    return row;
  }

  NodeView view() const override { return node; }

  MembersProgress members_progress() const override { return progress; }

  void transfer(ShardId shard, NodeId to) override { transfers[shard.value] = to; }

  void set_live(std::uint32_t id, bool live) { node.peers[id - 2].live = live; }

  NodeView node;
  bool leads = true;
  MembersProgress progress;
  std::deque<Proposal> proposals;
  std::vector<std::byte> written;  // All that was proposed.
  std::map<std::uint32_t, NodeId> transfers;
};

class Replies final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override { ++parked; }

  void unpark(protocol::ConnectionId) override { --parked; }

  void reply(protocol::ConnectionId,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    ++count;
    last = slot;
    bytes.assign(payload.begin(), payload.end());
  }

  int count = 0;
  int parked = 0;
  protocol::ReplySlot last;
  std::vector<std::byte> bytes;
};

class MemberChangesTest : public testing::Test {
 protected:
  MemberChangesTest() : machine_(inner_) {
    ViewKeeperOptions options;
    options.self.id = NodeId{1};
    options.self.name = "node-1";
    options.self.incarnation = Incarnation{1};
    options.self.peer_address = "one:1";
    options.settings.shards = kShards;
    options.peers = {{NodeId{2}, "two:1"}, {NodeId{3}, "three:1"}};
    members_ = std::make_unique<NodeMembers>(
        options,
        NodeMembers::Environment{.log = log_,
                                 .machine = machine_,
                                 .replies = replies_,
                                 .metrics = metrics_,
                                 .all_have = [] { return true; },
                                 .wall_ms = [this] { return wall_ms_; },
                                 .has =
                                     [this](NodeId node, protocol::Feature feature) {
                                       const bool marks = feature == protocol::Feature::MemberMarks;
                                       return !lacking_.contains(node.value) &&
                                              !(marks && lacking_marks_.contains(node.value));
                                     }});
    members_->set_on_members([this](const ClusterMembers& told) { told_.push_back(told); });
    members_->start("");
    pass();
  }

  // The first view, of three nodes that describe themselves.
  void found() {
    for (std::uint32_t id = 2; id <= 3; ++id) {
      hear(id, 0, {});
    }
    run_ms(200);
    ASSERT_EQ(view().epoch, 1u);
  }

  void hear(std::uint32_t id, std::uint64_t epoch, membership::ShardProgress progress) {
    membership::ViewAnnouncement said;
    said.epoch = epoch;
    said.settings.shards = kShards;
    said.self.id = NodeId{id};
    said.self.name = protocol::default_member_name(said.self.id);
    said.self.peer_address = "n" + std::to_string(id) + ":1";
    const protocol::Member* const known = protocol::find_member(view(), said.self.id);
    if (known != nullptr && known->described) {
      said.self.peer_address = known->peer_address;
    }
    said.progress = progress;
    members_->hear(NodeId{id}, Incarnation{1}, membership::encode_announcement(said));
  }

  const ClusterView& view() const { return machine_.views().view(); }

  const protocol::Member& node(std::uint32_t id) const {
    return *protocol::find_member(view(), NodeId{id});
  }

  void decide() {
    std::deque<FakeLog::Proposal> taken;
    taken.swap(log_.proposals);
    for (const FakeLog::Proposal& proposal : taken) {
      AppliedEntry entry;
      entry.shard = kViewShard;
      entry.kind = consensus::EntryKind::Command;
      entry.index = LogIndex{++index_};
      entry.payload = proposal.bytes;
      entry.cookie = proposal.cookie;
      machine_.apply(entry);
    }
  }

  void pass() {
    now_ms_ += 10;
    members_->advance(now_ms_);
  }

  void run_ms(int ms) {
    for (; ms > 0; ms -= 10) {
      pass();
      decide();
    }
  }

  // All shards are led here and have come so far with the newest view.
  void settle(std::uint32_t settled, std::uint32_t ready) {
    log_.progress = {.epoch = view().epoch, .led = kShards, .settled = settled, .ready = ready};
  }

  ErrorCode send(RequestKind kind, const std::vector<std::byte>& payload) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = 1;
    members_->on_request(protocol::ConnectionId{1}, slot, payload);
    return static_cast<ErrorCode>(replies_.last.detail);
  }

  // Asked, decided, answered.
  ErrorCode order(const MemberActionOrder& wanted) {
    const int before = replies_.count;
    send(RequestKind::MemberChange, protocol::encode_member_action(wanted));
    for (int k = 0; k < 20 && replies_.count == before; ++k) {
      decide();
      pass();
    }
    EXPECT_EQ(replies_.count, before + 1);
    return static_cast<ErrorCode>(replies_.last.detail);
  }

  ErrorCode join(const protocol::JoinRequest& request) {
    const int before = replies_.count;
    send(RequestKind::MemberJoin, protocol::encode_join_request(request));
    decide();
    EXPECT_EQ(replies_.count, before + 1);
    return static_cast<ErrorCode>(replies_.last.detail);
  }

  protocol::MemberActionAnswer answer() const {
    auto read = protocol::decode_member_action_answer(replies_.bytes);
    EXPECT_TRUE(read.ok());
    return read.ok() ? read.value() : protocol::MemberActionAnswer{};
  }

  static MemberActionOrder adding(MemberRole role = MemberRole::Voter) {
    MemberActionOrder wanted;
    wanted.number = ++numbers_;
    wanted.role = role;
    wanted.weight = role == MemberRole::Observer ? 0 : 1;
    wanted.token_ms = 60'000;
    wanted.who = "ann@build";
    return wanted;
  }

  static MemberActionOrder about(MemberAction action, std::uint32_t id) {
    MemberActionOrder wanted;
    wanted.action = action;
    wanted.number = ++numbers_;
    wanted.node = NodeId{id};
    return wanted;
  }

  static protocol::JoinRequest joining(const protocol::JoinToken& token, std::uint64_t directory) {
    return {.token = token,
            .directory = directory,
            .name = "",
            .peer_address = "j" + std::to_string(directory) + ":1",
            .client_address = "j" + std::to_string(directory) + ":2",
            .labels = {},
            .features = protocol::kFeatures};
  }

  // Added, joined, and heard.
  void grow(MemberActionOrder wanted = adding()) {
    ASSERT_EQ(order(wanted), ErrorCode::None);
    const std::uint32_t id = answer().node.value;
    ASSERT_EQ(join(joining(*answer().token, 100 + id)), ErrorCode::None);
    log_.set_live(id, true);
  }

  static inline std::uint64_t numbers_ = 0;
  FakeLog log_;
  ToyService inner_;
  ViewMachine machine_;
  MetricsRegistry metrics_;
  Replies replies_;
  std::set<std::uint32_t> lacking_;
  std::set<std::uint32_t> lacking_marks_;  // Of them only Feature::MemberMarks.
  std::uint64_t wall_ms_ = 1'000'000;
  std::uint64_t now_ms_ = 1000;
  std::uint64_t index_ = 0;
  std::vector<ClusterMembers> told_;
  std::unique_ptr<NodeMembers> members_;
};

TEST_F(MemberChangesTest, WhoeverListensLearnsOfTheFixedListAndOfEachView) {
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].view.epoch, 0u);
  ASSERT_EQ(told_[0].view.nodes.size(), 3u);
  EXPECT_EQ(told_[0].view.nodes[2].peer_address, "three:1");
  EXPECT_EQ(voters_of(told_[0].view).size(), 3u);
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1].view, view());
  ASSERT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::None);
  pass();
  EXPECT_EQ(told_.back().view, view());
  EXPECT_EQ(members_->members().view.epoch, 2u);
}

TEST_F(MemberChangesTest, ANodeIsAddedWithATokenAndJoins) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding();
  wanted.labels = {{"zone", "b"}};
  ASSERT_EQ(order(wanted), ErrorCode::None);
  const protocol::MemberActionAnswer added = answer();
  EXPECT_EQ(added.node, NodeId{4});
  ASSERT_TRUE(added.token.has_value());
  EXPECT_EQ(added.deadline_ms, wall_ms_ + 60'000);
  EXPECT_EQ(added.view.epoch, 2u);
  EXPECT_EQ(node(4).invitation->token_hash, protocol::join_token_hash(*added.token));
  // The first answer was lost: the same again, and the log has one entry.
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().token, added.token);
  EXPECT_EQ(view().epoch, 2u);
  protocol::JoinToken wrong = *added.token;
  wrong[3] ^= std::byte{1};
  EXPECT_EQ(join(joining(wrong, 50)), ErrorCode::JoinTokenUnknown);
  ASSERT_EQ(join(joining(*added.token, 50)), ErrorCode::None);
  const auto joined = protocol::decode_join_answer(replies_.bytes);
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined.value().node, NodeId{4});
  EXPECT_EQ(joined.value().cluster, ClusterId{77});
  EXPECT_EQ(joined.value().view, view());
  EXPECT_EQ(node(4).peer_address, "j50:1");
  const std::uint64_t epoch = view().epoch;
  ASSERT_EQ(join(joining(*added.token, 50)), ErrorCode::None);  // Its answer was lost.
  EXPECT_EQ(view().epoch, epoch);
  EXPECT_EQ(join(joining(*added.token, 51)), ErrorCode::JoinTokenSpent);
  EXPECT_EQ(join(joining(wrong, 50)), ErrorCode::JoinTokenSpent);  // The directory is no secret.
}

// A node that listens everywhere says no address: it stays where the view has it.
TEST_F(MemberChangesTest, ANodeThatSaysNoAddressStaysWhereItIs) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  ASSERT_EQ(node(4).peer_address, "j104:1");
  const std::uint64_t epoch = view().epoch;
  membership::ViewAnnouncement said;
  said.epoch = epoch;
  said.settings.shards = kShards;
  said.self.id = NodeId{4};
  said.self.name = "node-4";
  members_->hear(NodeId{4}, Incarnation{1}, membership::encode_announcement(said));
  run_ms(500);
  EXPECT_GT(view().epoch, epoch);
  EXPECT_EQ(node(4).peer_address, "j104:1");
  EXPECT_EQ(node(4).client_address, "j104:2");
}

// Whatever becomes of a record: whoever reads a log or a backup does not join with what is in it.
TEST_F(MemberChangesTest, TheLogNeverHasTheToken) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);
  const protocol::JoinToken token = *answer().token;
  EXPECT_TRUE(std::ranges::search(log_.written, protocol::join_token_proof(token)).empty());
  ASSERT_EQ(join(joining(token, 50)), ErrorCode::None);
  EXPECT_TRUE(std::ranges::search(log_.written, token).empty());
  EXPECT_FALSE(std::ranges::search(log_.written, protocol::join_token_proof(token)).empty());
  EXPECT_NE(protocol::join_token_proof(token), protocol::join_token_hash(token));
}

TEST_F(MemberChangesTest, WhatIsNotDoneDrawsNoToken) {
  ASSERT_NO_FATAL_FAILURE(found());
  const MemberActionOrder wanted = adding();
  ASSERT_EQ(order(wanted), ErrorCode::None);
  const protocol::JoinToken token = *answer().token;
  for (int k = 0; k < 100; ++k) {
    MemberActionOrder other = adding();
    other.dry_run = k % 2 == 0;
    other.weight = other.dry_run ? 1 : 0;
    EXPECT_EQ(order(other), other.dry_run ? ErrorCode::None : ErrorCode::MemberWeightInvalid);
  }
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().token, token);
}

TEST_F(MemberChangesTest, AJoinThatIsLateOrOldOrInTheWayIsRefused) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);
  protocol::JoinToken token = *answer().token;
  protocol::JoinRequest request = joining(token, 50);
  request.features &= ~static_cast<std::uint64_t>(protocol::Feature::Members);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
  request.features = static_cast<std::uint64_t>(protocol::Feature::Members);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
  request.features = protocol::kFeatures;
  request.peer_address = "two:1";
  EXPECT_EQ(join(request), ErrorCode::None);  // Node 2 said n2:1.
  ASSERT_EQ(order(adding()), ErrorCode::None);
  token = *answer().token;
  request = joining(token, 60);
  request.peer_address = "n2:1";
  EXPECT_EQ(join(request), ErrorCode::MemberAddressTaken);
  request = joining(token, 50);
  request.client_address = "elsewhere:2";
  EXPECT_EQ(join(request), ErrorCode::MemberDirectoryTaken);
  request = joining(token, 60);
  wall_ms_ += 60'001;
  EXPECT_EQ(join(request), ErrorCode::JoinTokenLate);
  ASSERT_EQ(order(about(MemberAction::Remove, 5)), ErrorCode::None);
  EXPECT_EQ(node(5).state, MemberState::Removed);
  EXPECT_EQ(join(request), ErrorCode::JoinTokenUnknown);
  EXPECT_EQ(send(RequestKind::MemberJoin, {}), ErrorCode::PayloadMalformed);
}

TEST_F(MemberChangesTest, EachMistakeOfAnOrderHasItsOwnCodeAndChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding(MemberRole::Witness);
  wanted.weight = 2;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  wanted = adding();
  wanted.weight = 0;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  wanted = adding();
  wanted.name = "node-2";
  EXPECT_EQ(order(wanted), ErrorCode::MemberNameInvalid);
  wanted.name = "node-4";
  wanted.replaces = NodeId{9};
  EXPECT_EQ(order(wanted), ErrorCode::MemberUnknown);
  wanted = about(MemberAction::Drain, 9);
  EXPECT_EQ(order(wanted), ErrorCode::MemberUnknown);
  wanted = about(MemberAction::Drain, 2);
  wanted.expected = 9;
  EXPECT_EQ(order(wanted), ErrorCode::ViewStale);
  wanted = about(MemberAction::Promote, 2);
  EXPECT_EQ(order(wanted), ErrorCode::MemberStateWrong);
  wanted = about(MemberAction::Reweigh, 2);
  wanted.weight = 300;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  EXPECT_EQ(send(RequestKind::MemberChange, std::vector<std::byte>(7)),
            ErrorCode::PayloadMalformed);
  wanted = about(MemberAction::Drain, 2);
  wanted.who = "a\nb";
  EXPECT_EQ(order(wanted), ErrorCode::SlotInvalid);
  EXPECT_EQ(view().epoch, 1u);
  EXPECT_TRUE(log_.proposals.empty());
}

// Those that can lead stay a majority by themselves.
TEST_F(MemberChangesTest, AWitnessTakesMoreVotersWithStateThanThereAreWitnesses) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding(MemberRole::Witness)), ErrorCode::None);
  EXPECT_EQ(node(4).role, MemberRole::Witness);
  EXPECT_EQ(node(4).weight, 1u);
  MemberActionOrder more = adding(MemberRole::Witness);
  ASSERT_EQ(order(more), ErrorCode::None);
  more = adding(MemberRole::Witness);
  more.force = true;
  EXPECT_EQ(order(more), ErrorCode::WitnessNeedsVoters) << "three voters, three witnesses";
  EXPECT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::WitnessNeedsVoters);
  ASSERT_EQ(order(about(MemberAction::Remove, 5)), ErrorCode::None) << "a witness may go";
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None) << "two voters, one witness";
  EXPECT_EQ(order(adding(MemberRole::Witness)), ErrorCode::WitnessNeedsVoters);
  MemberActionOrder other = adding(MemberRole::Witness);
  other.replaces = NodeId{2};
  EXPECT_EQ(order(other), ErrorCode::WitnessNeedsVoters) << "a witness in place of a voter";
  MemberActionOrder heir = adding();
  heir.replaces = NodeId{2};
  heir.dry_run = true;
  EXPECT_EQ(order(heir), ErrorCode::None) << "a voter in place of a voter";
  MemberActionOrder forced = about(MemberAction::Remove, 2);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::None);
  MemberActionOrder last = about(MemberAction::Remove, 1);
  last.force = true;
  EXPECT_EQ(order(last), ErrorCode::LastVoter) << "a witness cannot lead";
}

TEST_F(MemberChangesTest, AWitnessComesOnlyWhereAllNodesKnowWitnesses) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);  // So changes are known everywhere.
  lacking_.insert(3);
  ASSERT_EQ(order(adding()), ErrorCode::None);
  EXPECT_EQ(order(adding(MemberRole::Witness)), ErrorCode::MemberFeatureMissing);
  lacking_.clear();
  ASSERT_EQ(order(adding(MemberRole::Witness)), ErrorCode::None);
  // Now nobody may come who knows of none, whatever is known of those that are there.
  protocol::JoinRequest request = joining(*answer().token, 40);
  request.features &= ~static_cast<std::uint64_t>(protocol::Feature::Witnesses);
  lacking_.insert(3);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
}

TEST_F(MemberChangesTest, AQuorumOfLiveNodesStaysUnlessItIsForced) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.set_live(3, false);
  MemberActionOrder wanted = about(MemberAction::Remove, 2);
  EXPECT_EQ(order(wanted), ErrorCode::QuorumWouldBeLost);
  EXPECT_NE(std::string(reinterpret_cast<const char*>(replies_.bytes.data()), replies_.bytes.size())
                .find("of 2 votes 1 would be alive, and 2 are needed"),
            std::string::npos);
  wanted = about(MemberAction::Remove, 2);
  wanted.dry_run = true;
  wanted.force = true;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().before, (protocol::MemberTolerance{.votes = 3, .alive = 2, .needed = 2}));
  EXPECT_EQ(answer().after, (protocol::MemberTolerance{.votes = 2, .alive = 1, .needed = 2}));
  EXPECT_EQ(view().epoch, 1u);
  // The dead one may go.
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  wanted.dry_run = false;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  wanted = about(MemberAction::Remove, 1);
  wanted.force = true;
  EXPECT_EQ(order(wanted), ErrorCode::LastVoter);
}

TEST_F(MemberChangesTest, OneThatLagsIsNotPromotedUnlessItIsForced) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  settle(kShards, kShards - 1);
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  settle(kShards, kShards);
  log_.progress.epoch -= 1;  // Counts for an earlier view say nothing.
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  settle(kShards, kShards);
  log_.set_live(4, false);
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  log_.set_live(4, true);
  ASSERT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::None);
  EXPECT_EQ(node(4).state, MemberState::Active);
  EXPECT_EQ(answer().after.votes, 4u);
  ASSERT_NO_FATAL_FAILURE(grow());
  MemberActionOrder forced = about(MemberAction::Promote, 5);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::None);
}

TEST_F(MemberChangesTest, OneThatCaughtUpIsPromotedByItselfAfterAWhile) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding();
  wanted.auto_promote = true;
  wanted.replaces = NodeId{3};
  ASSERT_NO_FATAL_FAILURE(grow(wanted));
  settle(kShards, kShards - 1);
  run_ms(5000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  // Half is led elsewhere; an earlier view's counts do not help.
  log_.progress = {.epoch = view().epoch, .led = 4, .settled = 4, .ready = 4};
  hear(2, view().epoch, {.epoch = view().epoch - 1, .led = 4, .settled = 4, .ready = 4});
  run_ms(5000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  hear(2, view().epoch, {.epoch = view().epoch, .led = 4, .settled = 4, .ready = 4});
  run_ms(1000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  // What is not true for long enough is not concluded from.
  log_.progress.ready = 3;
  run_ms(200);
  log_.progress.ready = 4;
  run_ms(2000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  run_ms(1000);
  EXPECT_EQ(node(4).state, MemberState::Active);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  // It has left everywhere once all shards are settled at the view that made it leave.
  run_ms(5000);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  settle(kShards, kShards);
  run_ms(4000);
  EXPECT_EQ(node(3).state, MemberState::Leaving) << "others may still go by an earlier view";
  hear(4, view().epoch, {});
  run_ms(300);  // It is described in its present life.
  for (std::uint32_t id = 2; id <= 4; ++id) {
    hear(id, view().epoch, {});
  }
  settle(kShards, kShards);
  run_ms(4000);
  EXPECT_EQ(node(3).state, MemberState::Removed);
  EXPECT_TRUE(log_.proposals.empty());
}

// Each shard makes voters of both in one change.
TEST_F(MemberChangesTest, NodesThatCaughtUpTogetherArePromotedOneRightAfterTheOther) {
  ASSERT_NO_FATAL_FAILURE(found());
  for (int k = 0; k < 2; ++k) {
    MemberActionOrder wanted = adding();
    wanted.auto_promote = true;
    ASSERT_NO_FATAL_FAILURE(grow(wanted));
  }
  settle(kShards, kShards);
  run_ms(3000);
  EXPECT_EQ(node(5).state, MemberState::Active);
}

// Nodes 2 and 3 and a client of theirs may be cut off, and go by view 1: they are its majority.
TEST_F(MemberChangesTest, NobodyIsGoneWhileAnEarlierViewMayBeGoneByUnlessSomebodyVouches) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  settle(kShards - 1, kShards);
  MemberActionOrder again = about(MemberAction::Remove, 3);
  EXPECT_EQ(order(again), ErrorCode::MemberStateWrong);
  again.force = true;
  EXPECT_EQ(order(again), ErrorCode::MemberLags) << "a shard has it still";
  settle(kShards, kShards);
  run_ms(600'000);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  again.dry_run = true;
  EXPECT_EQ(order(again), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  again.dry_run = false;
  again.number += 1;
  EXPECT_EQ(order(again), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Removed);
  const std::uint64_t epoch = view().epoch;
  EXPECT_EQ(order(again), ErrorCode::None) << "its answer was lost";
  EXPECT_EQ(view().epoch, epoch);
}

TEST_F(MemberChangesTest, MarksDoNotHoldUpWhatMembersWaitFor) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  settle(kShards, kShards);
  bool suspect = false;
  for (int k = 0; k < 6; ++k) {
    hear(2, view().epoch, {});
    members_->propose_suspect(NodeId{2}, suspect = !suspect);
    run_ms(1000);
  }
  EXPECT_GT(view().epoch, 6u);
  EXPECT_EQ(node(3).state, MemberState::Removed);
}

TEST_F(MemberChangesTest, ViewsThatNobodyLeavesAreNotForgotten) {
  ASSERT_NO_FATAL_FAILURE(found());
  const std::uint64_t first = view().epoch;
  bool suspect = false;
  for (int k = 0; k < 40; ++k) {
    members_->propose_suspect(NodeId{2}, suspect = !suspect);
    run_ms(1000);
  }
  EXPECT_EQ(view().epoch, first + ViewFollowers::kUnleftMax);
  MemberActionOrder wanted = about(MemberAction::Drain, 2);
  EXPECT_EQ(order(wanted), ErrorCode::ViewsNotLeft);
  wanted.number += 1;
  wanted.force = true;
  EXPECT_EQ(order(wanted), ErrorCode::None);
  hear(2, view().epoch, {});
  run_ms(300);
  EXPECT_EQ(order(about(MemberAction::Undrain, 2)), ErrorCode::None);
}

// The directory has a view before others hear of it.
TEST_F(MemberChangesTest, AnEpochIsSaidOnceItIsKept) {
  ASSERT_NO_FATAL_FAILURE(found());
  const auto said = [this] {
    return membership::decode_announcement(members_->announcement())->epoch;
  };
  EXPECT_EQ(said(), 1u);
  members_->set_kept_epoch(1);
  ASSERT_EQ(order(about(MemberAction::Drain, 3)), ErrorCode::None);
  run_ms(300);
  EXPECT_EQ(said(), 1u);
  members_->set_kept_epoch(2);
  EXPECT_EQ(said(), 2u);
}

TEST_F(MemberChangesTest, NobodyIsPromotedWithoutTheWishOrByAFollower) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  settle(kShards, kShards);
  run_ms(6000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  MemberActionOrder wanted = adding();
  wanted.auto_promote = true;
  ASSERT_NO_FATAL_FAILURE(grow(wanted));
  settle(kShards, kShards);
  log_.leads = false;
  run_ms(6000);
  EXPECT_EQ(node(5).state, MemberState::Joining);
}

TEST_F(MemberChangesTest, ASuspectIsMarkedOnceAndUnmarked) {
  ASSERT_NO_FATAL_FAILURE(found());
  members_->propose_suspect(NodeId{3}, true);
  members_->propose_suspect(NodeId{9}, true);
  run_ms(300);
  EXPECT_TRUE(node(3).suspect);
  EXPECT_EQ(node(3).suspect_since_ms, wall_ms_);
  const std::uint64_t epoch = view().epoch;
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_EQ(view().epoch, epoch);
  members_->propose_suspect(NodeId{3}, false);
  run_ms(300);
  EXPECT_FALSE(node(3).suspect);
  log_.leads = false;
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_FALSE(node(3).suspect);
}

TEST_F(MemberChangesTest, SuspectsOfOneMomentAreMarkedInOneView) {
  ASSERT_NO_FATAL_FAILURE(found());
  members_->propose_suspect(NodeId{2}, true);
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_EQ(view().epoch, 2u);
  EXPECT_TRUE(node(2).suspect);
  EXPECT_TRUE(node(3).suspect);
  EXPECT_EQ(node(3).suspect_since_ms, wall_ms_);
  // One to be marked, the other no longer.
  members_->propose_suspect(NodeId{1}, true);
  members_->propose_suspect(NodeId{2}, false);
  run_ms(300);
  EXPECT_EQ(view().epoch, 3u);
  EXPECT_TRUE(node(1).suspect);
  EXPECT_FALSE(node(2).suspect);
  // What the view says already is left out.
  members_->propose_suspect(NodeId{1}, true);
  members_->propose_suspect(NodeId{3}, false);
  run_ms(300);
  EXPECT_EQ(view().epoch, 4u);
  EXPECT_FALSE(node(3).suspect);
}

// A follower that cannot read the command would go another way.
TEST_F(MemberChangesTest, SuspectsAreMarkedOneByOneWhileANodeIsOfAnEarlierRelease) {
  ASSERT_NO_FATAL_FAILURE(found());
  lacking_marks_ = {2};
  members_->propose_suspect(NodeId{2}, true);
  members_->propose_suspect(NodeId{3}, true);
  run_ms(500);
  EXPECT_EQ(view().epoch, 3u);
  EXPECT_TRUE(node(2).suspect);
  EXPECT_TRUE(node(3).suspect);
}

TEST_F(MemberChangesTest, NothingIsProposedWhileANodeIsOfAnEarlierRelease) {
  ASSERT_NO_FATAL_FAILURE(found());
  lacking_ = {3};
  EXPECT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::MemberFeatureMissing);
  EXPECT_NE(std::string(reinterpret_cast<const char*>(replies_.bytes.data()), replies_.bytes.size())
                .find("node 3"),
            std::string::npos);
  members_->propose_suspect(NodeId{2}, true);
  run_ms(500);
  EXPECT_EQ(view().epoch, 1u);
  // One that is down is not to come back with it.
  MemberActionOrder forced = about(MemberAction::Drain, 2);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::MemberFeatureMissing);
  log_.set_live(3, false);
  forced.number += 1000;
  EXPECT_EQ(order(forced), ErrorCode::None);
  // Where it was used once, nobody lacks it.
  EXPECT_EQ(order(about(MemberAction::Undrain, 2)), ErrorCode::None);
}

TEST_F(MemberChangesTest, AChangeForAnyViewIsMadeAnewWhenAnotherWasFaster) {
  ASSERT_NO_FATAL_FAILURE(found());
  const MemberActionOrder first = about(MemberAction::Drain, 2);
  const MemberActionOrder second = about(MemberAction::Drain, 3);
  MemberActionOrder third = about(MemberAction::Reweigh, 3);
  third.weight = 2;
  third.expected = 1;
  const int before = replies_.count;
  for (const MemberActionOrder& each : {first, second, third}) {
    send(RequestKind::MemberChange, protocol::encode_member_action(each));
  }
  decide();
  decide();
  EXPECT_EQ(replies_.count, before + 3);
  EXPECT_EQ(node(2).state, MemberState::Draining);
  EXPECT_EQ(node(3).state, MemberState::Draining);
  EXPECT_EQ(node(3).weight, 1u);  // That one was for view 1 only.
  EXPECT_EQ(view().epoch, 3u);
}

TEST_F(MemberChangesTest, FollowersNameTheLeader) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.leads = false;
  EXPECT_EQ(send(RequestKind::MemberChange,
                 protocol::encode_member_action(about(MemberAction::Drain, 2))),
            ErrorCode::NotLeader);
  EXPECT_EQ(send(RequestKind::MemberJoin, protocol::encode_join_request(joining({}, 5))),
            ErrorCode::NotLeader);
  EXPECT_EQ(send(RequestKind::MemberProgress, {}), ErrorCode::NotLeader);
}

TEST_F(MemberChangesTest, WhereThereIsNoViewNothingChanges) {
  EXPECT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::ViewAbsent);
  EXPECT_EQ(join(joining({}, 5)), ErrorCode::ViewAbsent);
}

TEST_F(MemberChangesTest, AChangeThatTheLogLostSaysSo) {
  ASSERT_NO_FATAL_FAILURE(found());
  send(RequestKind::MemberChange, protocol::encode_member_action(about(MemberAction::Drain, 2)));
  ASSERT_EQ(log_.proposals.size(), 1u);
  machine_.on_proposal_failed(
      log_.proposals.front().cookie, Status{StatusCode::Unavailable, "lost"}, NodeId{2});
  EXPECT_NE(replies_.last.code, StatusCode::Ok);
  EXPECT_EQ(view().epoch, 1u);
}

TEST_F(MemberChangesTest, LeadershipsGoToLiveActiveVotersOnce) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::None);
  MemberActionOrder wanted = about(MemberAction::MoveLeaders, 1);
  wanted.dry_run = true;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_TRUE(log_.transfers.empty());
  wanted.dry_run = false;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(replies_.parked, 0);
  EXPECT_EQ(answer().handed_over, kShards);
  ASSERT_EQ(log_.transfers.size(), kShards);
  for (const auto& [shard, to] : log_.transfers) {
    EXPECT_EQ(to, NodeId{3}) << "2 is draining";
  }
  EXPECT_EQ(order(about(MemberAction::MoveLeaders, 2)), ErrorCode::SlotInvalid);
}

TEST_F(MemberChangesTest, ProgressIsOfTheNewestViewAndOfNodesThatLive) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.progress = {.epoch = 1, .led = 4, .settled = 3, .ready = 2};
  hear(2, 1, {.epoch = 1, .led = 3, .settled = 2, .ready = 1});
  hear(3, 1, {.epoch = 1, .led = 1, .settled = 1, .ready = 1});
  EXPECT_EQ(send(RequestKind::MemberProgress, {}), ErrorCode::None);
  EXPECT_EQ(
      protocol::decode_member_moves(replies_.bytes).value(),
      (protocol::MemberMoves{.epoch = 1, .shards = kShards, .led = 8, .settled = 6, .ready = 4}));
  log_.set_live(3, false);
  send(RequestKind::MemberProgress, {});
  EXPECT_EQ(protocol::decode_member_moves(replies_.bytes).value().led, 7u);
}

TEST_F(MemberChangesTest, ClientsOfEarlierReleasesReadTheViewAsTheyKnowIt) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  EXPECT_EQ(send(RequestKind::ViewGet, protocol::encode_view_query({})), ErrorCode::None);
  EXPECT_EQ(protocol::decode_view_answer(replies_.bytes).value().view.nodes[2].state,
            MemberState::Leaving);
  send(RequestKind::ViewGet, protocol::encode_view_query({.members = false}));
  EXPECT_EQ(protocol::decode_view_answer(replies_.bytes).value().view.nodes[2].state,
            MemberState::Draining);
}

TEST_F(MemberChangesTest, AnnouncementsCarryTheProgressOfTheNode) {
  ASSERT_NO_FATAL_FAILURE(found());
  EXPECT_FALSE(membership::decode_announcement(members_->announcement())->progress.has_value());
  log_.progress = {.epoch = 1, .led = 4, .settled = 3, .ready = 2};
  EXPECT_EQ(membership::decode_announcement(members_->announcement())->progress,
            (membership::ShardProgress{.epoch = 1, .led = 4, .settled = 3, .ready = 2}));
}

}  // namespace
}  // namespace gcoord::server
