// Notes in a node without a cluster: a machine behind which a toy stands, and a log that a test
// decides.
#pragma once

#include "locks/commands/command.h"
#include "server/audit/machine.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/replicated_log.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

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

  static std::vector<std::byte> bytes_of(ToyService& service) {
    std::vector<std::byte> bytes;
    service.serialize(kShard, bytes);
    return bytes;
  }

  ToyService plain_;
  AuditMachine machine_{plain_, {.shard_count = 2, .keeps = true}};
};

}  // namespace gcoord::server
