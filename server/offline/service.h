// The services' state of a node that does not run: what entries made of it, and nobody to answer.
//
// The same tables that a running node has (locks, groups, rendezvous), filled from its checkpoints
// and by its entries. What belongs to a life in the cluster (roles, proposals, messages) does not
// come. One thread.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "membership/groups/group_cpu.h"
#include "membership/rendezvous/table.h"
#include "server/groups/group_machine.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class OfflineService final : public StateMachine {
 public:
  explicit OfflineService(std::uint32_t shard_count);

  // The newest time that an entry says of itself, in Unix milliseconds; 0: none did.
  std::uint64_t newest_ms() const { return newest_ms_; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;

  std::uint64_t state_hash(ShardId shard) const override { return machine_.state_hash(shard); }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId hint) override;
  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;
  void on_loop_gap(std::uint64_t ticks) override;

 private:
  locks::LockCpu locks_;
  membership::GroupCpu groups_;
  membership::RendezvousTable rendezvous_;
  GroupMachine machine_;
  std::vector<locks::LockEvent> events_;  // Kept warm.
  std::uint64_t newest_ms_ = 0;
};

}  // namespace gcoord::server
