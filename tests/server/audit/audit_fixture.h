// Notes in a node without a cluster: a machine behind which nothing stands, and a log that a test
// decides.
#pragma once

#include "locks/commands/command.h"
#include "server/audit/machine.h"
#include "server/interfaces/log_record.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <string>
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
