// A node's part of the cluster view over a log that decides when the test says so. One thread.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/join_messages.h"
#include "server/members/node_members.h"
#include "tests/server/host_turn/engine_toy_service.h"
#include "tests/server/last_answer.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
using membership::ClusterView;
using protocol::ErrorCode;
using protocol::MemberAction;
using protocol::MemberActionOrder;
using protocol::MemberRole;
using protocol::MemberState;
using protocol::RequestKind;

inline constexpr std::uint32_t kShards = 8;

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

class ChangingMembers : public testing::Test {
 protected:
  ChangingMembers() : machine_(inner_) {
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

  // Of the last answer, which is a refusal.
  std::string text() const { return std::string(protocol::text_of(replies_.bytes)); }

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
  LastAnswer replies_;
  std::set<std::uint32_t> lacking_;
  std::set<std::uint32_t> lacking_marks_;  // Of them only Feature::MemberMarks.
  std::uint64_t wall_ms_ = 1'000'000;
  std::uint64_t now_ms_ = 1000;
  std::uint64_t index_ = 0;
  std::vector<ClusterMembers> told_;
  std::unique_ptr<NodeMembers> members_;
};

}  // namespace gcoord::server
