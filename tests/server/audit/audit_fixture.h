// Notes in a node without a cluster: a machine behind which nothing stands, and a log that a test
// decides.
#pragma once

#include "locks/commands/command.h"
#include "server/audit/machine.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/replicated_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

// Keeps the bytes that it is given.
class PlainMachine final : public StateMachine {
 public:
  void apply(const AppliedEntry& entry) override { cookies.push_back(entry.cookie); }

  void on_proposal_failed(std::uint64_t cookie, const Status&, NodeId) override {
    cookies.push_back(cookie);
  }

  void on_read(std::uint64_t, const Status&, NodeId) override {}

  void on_role(ShardId, consensus::Role, Term, NodeId) override {}

  void serialize(ShardId, std::vector<std::byte>& bytes) override {
    bytes.insert(bytes.end(), state.begin(), state.end());
  }

  Status install(ShardId, std::span<const std::byte> bytes) override {
    state.assign(bytes.begin(), bytes.end());
    return {};
  }

  bool plausible(ShardId, std::span<const std::byte>) const override { return true; }

  std::uint64_t state_hash(ShardId) const override { return 7; }

  void on_peer_message(NodeId, std::span<const std::byte>) override { ++messages; }

  void on_loop_gap(std::uint64_t) override {}

  std::vector<std::uint64_t> cookies;
  std::vector<std::byte> state;
  int messages = 0;
};

// Keeps what was proposed and sent, until a test decides.
class TestLog final : public ReplicatedLog {
 public:
  struct Proposal {
    ShardId shard;
    std::vector<std::byte> command;
    std::uint64_t cookie = 0;
  };

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    proposals.push_back({shard, {proposed.bytes.begin(), proposed.bytes.end()}, cookie});
  }

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId shard) const override {
    ShardView view;
    const bool leads = led.contains(shard.value);
    view.role = leads ? consensus::Role::Leader : consensus::Role::Follower;
    view.leader = leads ? NodeId{1} : other_leader;
    return view;
  }

  NodeView view() const override { return {}; }

  bool send_peer_message(NodeId to, std::span<const std::byte> message) override {
    messages.push_back({to, {message.begin(), message.end()}});
    return true;
  }

  // Everything that was proposed is decided, in order.
  void decide(StateMachine& machine) {
    for (const Proposal& proposal : std::exchange(proposals, {})) {
      AppliedEntry entry;
      entry.shard = proposal.shard;
      entry.payload = proposal.command;
      entry.cookie = proposal.cookie;
      machine.apply(entry);
    }
  }

  std::vector<Proposal> proposals;
  std::vector<std::pair<NodeId, std::vector<std::byte>>> messages;
  std::set<std::uint32_t> led;
  NodeId other_leader;
};

inline security::AuditNote bobs_note(std::uint64_t session) {
  security::AuditNote note;
  note.number = session;
  note.origin.principal = {security::PrincipalKind::User, "bob"};
  note.origin.client = "build";
  return note;
}

class AuditFixture : public testing::Test {
 protected:
  static constexpr ShardId kShard{1};

  void apply(const std::vector<std::byte>& record, std::uint64_t cookie = 0) {
    AppliedEntry entry;
    entry.shard = kShard;
    entry.payload = record;
    entry.cookie = cookie;
    machine_.apply(entry);
  }

  void apply(const locks::LockCommand& command) {
    std::vector<std::byte> record;
    put_record_header(record, {RecordKind::LockCommand});
    locks::encode(command, record);
    apply(record);
  }

  const security::KnownOrigin* known(std::uint64_t session) const {
    return machine_.notes().find(kShard, SessionId{session});
  }

  PlainMachine plain_;
  AuditMachine machine_{plain_, {.shard_count = 2, .keeps = true}};
};

}  // namespace gcoord::server
