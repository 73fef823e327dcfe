// A state machine that stands before another one and passes on what it does not look at.
//
// Its subclasses add to apply(), to the shards' bytes and to what is refused; reads, roles, gaps of
// the loop and messages of peers go on as they come, unless one of them wants those, too. One
// thread, as its base.
#pragma once

#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

// Gives the entry to the machine behind that of `owner`, which does not hear of outcomes that are
// not its own. Nearly every entry is none of the owner's, and goes through many such machines: no
// copy.
inline void apply_behind(StateMachine& inner, CookieOwner owner, const AppliedEntry& entry) {
  if (!is_cookie_of(owner, entry.cookie)) {
    inner.apply(entry);
    return;
  }
  AppliedEntry passed = entry;
  passed.cookie = 0;
  inner.apply(passed);
}

class PassingMachine : public StateMachine {
 public:
  // inner outlives it.
  explicit PassingMachine(StateMachine& inner) : inner_(inner) {}

  void state(ShardId shard, std::vector<std::byte>& bytes) override { inner_.state(shard, bytes); }

  void witness_state(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.witness_state(shard, bytes);
  }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId hint) override {
    inner_.on_proposal_failed(cookie, status, hint);
  }

  void on_read(std::uint64_t cookie, const Status& status, NodeId hint) override {
    inner_.on_read(cookie, status, hint);
  }

  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override {
    inner_.on_role(shard, role, term, leader);
  }

  std::uint64_t state_hash(ShardId shard) const override { return inner_.state_hash(shard); }

  std::uint64_t device_hash(ShardId shard) const override { return inner_.device_hash(shard); }

  void on_peer_message(NodeId from, std::span<const std::byte> message) override {
    inner_.on_peer_message(from, message);
  }

  void on_loop_gap(std::uint64_t ticks) override { inner_.on_loop_gap(ticks); }

  bool behind() const override { return inner_.behind(); }

 protected:
  StateMachine& inner_;
};

// One that passes on everything, for whoever changes a single call.
class WholePassingMachine : public PassingMachine {
 public:
  using PassingMachine::PassingMachine;

  void apply(const AppliedEntry& entry) override { inner_.apply(entry); }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.serialize(shard, bytes);
  }

  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.checkpoint(shard, bytes);
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    return inner_.install(shard, bytes);
  }

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    return inner_.plausible(shard, bytes);
  }

  bool continues(ShardId shard, std::span<const std::byte> bytes) const override {
    return inner_.continues(shard, bytes);
  }
};

}  // namespace gcoord::server
