// The service as the rows of one lane see it: calls go through, or are kept until the lanes of a
// turn have met.
//
// While lanes are worked on at once, nothing may reach the service but what only reads it: what the
// rows' steps say of roles, reads and proposals is kept here, in order, and told lane by lane after
// the lanes have met, before anything is applied. The service sees the same whether lanes were
// worked on at once or one after the other. Snapshots cannot wait so, as a step goes on from what
// it installed; a turn in which one may be installed keeps nothing (TurnLane, turn.cc).
// One thread at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/interfaces/replica_view.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace gcoord::server {

class LaneCalls final : public StateMachine {
 public:
  // Told of transitions (ReplicaOptions::trace); empty: nobody is.
  using Trace = std::function<void(const ShardTransition&)>;

  // All outlive this. `reading` is shared by the lanes: who reads the service's state while calls
  // are kept holds it.
  LaneCalls(StateMachine& service, const Trace& trace, std::mutex& reading)
      : service_(service), trace_(trace), reading_(reading) {}

  // Calls are kept from now on.
  void keep() { keeps_ = true; }

  bool keeps() const { return keeps_; }

  // Tells what was kept; calls go through again.
  void tell();

  // Gives back the memory of what was kept.
  void shrink();

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;

  bool traces() const { return trace_ != nullptr; }

  void trace(const ShardTransition& transition);

  // Never while calls are kept.
  void apply(const AppliedEntry& entry) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  void on_loop_gap(std::uint64_t ticks) override;

  // These only read.
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;
  void witness_state(ShardId shard, std::vector<std::byte>& bytes) override;
  void state(ShardId shard, std::vector<std::byte>& bytes) override;

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    return service_.plausible(shard, bytes);
  }

  bool continues(ShardId shard, std::span<const std::byte> bytes) const override {
    return service_.continues(shard, bytes);
  }

  std::uint64_t state_hash(ShardId shard) const override;

  bool behind() const override { return service_.behind(); }

 private:
  enum class Kind : std::uint8_t { Role, Read, ProposalFailed, Transition };

  struct Call {
    Kind kind = Kind::Role;
    consensus::Role role = consensus::Role::Follower;
    ShardId shard;
    NodeId leader;
    Term term;
    std::uint64_t cookie = 0;
    Status status;
  };

  void carry_out(const Call& call);

  StateMachine& service_;
  const Trace& trace_;
  std::mutex& reading_;
  bool keeps_ = false;
  std::vector<Call> kept_;
  std::vector<ShardTransition> transitions_;  // A call of its kind each.
  std::size_t transitions_told_ = 0;
};

}  // namespace gcoord::server
