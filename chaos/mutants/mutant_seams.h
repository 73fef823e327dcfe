// The parts around a simulated node with mistakes in them: its disks, its checkpoint store, its
// service and the port between service and engine. A part without a mistake passes everything on.
// One thread.
#pragma once

#include "chaos/mutants/mutant.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/disk/disk.h"
#include "server/interfaces/replicated_log.h"
#include "server/interfaces/state_machine.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::chaos {

// A disk that syncs less than it says. The disk beneath outlives it.
std::unique_ptr<ledger::Disk> make_mutant_disk(Mutant mutant, ledger::Disk& disk);

std::unique_ptr<ledger::CheckpointStore> make_mutant_store(
    Mutant mutant, std::unique_ptr<ledger::CheckpointStore> store);

// Whose calls of the service they are.
struct MutantNode {
  NodeId node;
  std::uint32_t lane_count = 1;
};

// Between the engine and a service, which outlives it.
class MutantStateMachine final : public server::StateMachine {
 public:
  MutantStateMachine(Mutant mutant, MutantNode node, server::StateMachine& service)
      : mutant_(mutant), node_(node), service_(service) {}

  void apply(const server::AppliedEntry& entry) override;

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId hint) override {
    service_.on_proposal_failed(cookie, status, hint);
  }

  void on_read(std::uint64_t cookie, const Status& status, NodeId hint) override {
    service_.on_read(cookie, status, hint);
  }

  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    return service_.plausible(shard, bytes);
  }

  bool continues(ShardId shard, std::span<const std::byte> bytes) const override {
    return service_.continues(shard, bytes);
  }

  std::uint64_t state_hash(ShardId shard) const override { return service_.state_hash(shard); }

  void on_peer_message(NodeId from, std::span<const std::byte> message) override {
    service_.on_peer_message(from, message);
  }

  void on_loop_gap(std::uint64_t ticks) override { service_.on_loop_gap(ticks); }

 private:
  bool apply_group(const server::AppliedEntry& entry);
  void forget_epochs(ShardId shard);

  Mutant mutant_;
  MutantNode node_;
  server::StateMachine& service_;
  std::map<std::uint32_t, std::vector<std::byte>> serialized_;  // By shard, of the time before.
};

// Between a service and the engine's port, which outlives it.
class MutantLog final : public server::ReplicatedLog {
 public:
  MutantLog(Mutant mutant, server::ReplicatedLog& port) : mutant_(mutant), port_(port) {}

  void propose(ShardId shard,
               const server::ProposedCommand& proposed,
               std::uint64_t cookie) override {
    port_.propose(shard, proposed, cookie);
  }

  void read(ShardId shard, std::uint64_t cookie) override;
  void read_by_round(ShardId shard, std::uint64_t cookie) override;

  server::Abilities abilities() const override { return port_.abilities(); }

  server::ShardView view(ShardId shard) const override { return port_.view(shard); }

  server::NodeView view() const override { return port_.view(); }

  void note_gap() override { port_.note_gap(); }

  Incarnation incarnation() const override { return port_.incarnation(); }

  void set_members(const server::ClusterMembers& members) override { port_.set_members(members); }

  void meet(NodeId node, const std::string& address) override { port_.meet(node, address); }

  server::MembersProgress members_progress() const override { return port_.members_progress(); }

  void transfer(ShardId shard, NodeId to) override { port_.transfer(shard, to); }

  bool send_peer_message(NodeId to, std::span<const std::byte> message) override {
    return port_.send_peer_message(to, message);
  }

  // Answers the reads that nobody confirmed; once per turn.
  void answer(server::StateMachine& service);

 private:
  Mutant mutant_;
  server::ReplicatedLog& port_;
  std::vector<std::uint64_t> reads_;
};

}  // namespace gcoord::chaos
