// Dealing of what is kept on stable storage to those who recover the shards it speaks of
// (docs/internals/threads.md).
//
// Store and log are read once; each shard's part goes to the recovery whose row map holds its
// slice. A slice that nobody holds goes to the first, which knows what is to be looked at all the
// same (recovery.h). One thread.
#pragma once

#include "consensus/step/row_map.h"
#include "server/replicas/recovery.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class Recoveries final : public ledger::CheckpointVisitor, public ledger::WalVisitor {
 public:
  // Of each slice, the number of the recovery that takes it.
  using Deal = std::array<std::uint8_t, consensus::kSlices>;

  // Everything goes to one. It outlives this.
  explicit Recoveries(Recovery& only) : all_{&only} {}

  // All outlive it.
  Recoveries(std::vector<Recovery*> all, const Deal& deal) : all_(std::move(all)), deal_(deal) {}

  void repair(std::span<const ShardId> shards) {
    for (Recovery* each : all_) {
      each->repair(shards);
    }
  }

  void forget_promises() {
    for (Recovery* each : all_) {
      each->forget_promises();
    }
  }

  void doubt_promises() {
    for (Recovery* each : all_) {
      each->doubt_promises();
    }
  }

  void set_initial_configuration(const consensus::Configuration& configuration) {
    for (Recovery* each : all_) {
      each->set_initial_configuration(configuration);
    }
  }

  ledger::Lsn newest_checkpoint_lsn() const {
    ledger::Lsn newest;
    for (const Recovery* each : all_) {
      newest = max_id(newest, each->newest_checkpoint_lsn());
    }
    return newest;
  }

  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override {
    of(shard).on_shard(shard, hard, service);
  }

  void on_record(ledger::Lsn lsn) override {
    for (Recovery* each : all_) {
      each->on_record(lsn);
    }
  }

  void on_hard_state(ShardId shard, Term term, NodeId vote) override {
    of(shard).on_hard_state(shard, term, vote);
  }

  void on_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) override {
    of(shard).on_entries(shard, first, entry_count);
  }

  void on_entry(ShardId shard,
                LogIndex index,
                Term term,
                std::uint8_t kind,
                std::span<const std::byte> payload) override {
    ledger::WalVisitor& taker = of(shard);
    taker.on_entry(shard, index, term, kind, payload);
  }

  void on_truncate(ShardId shard, LogIndex from) override { of(shard).on_truncate(shard, from); }

  void on_snapshot_installed(ShardId shard,
                             LogIndex index,
                             Term term,
                             std::span<const std::byte> state) override {
    of(shard).on_snapshot_installed(shard, index, term, state);
  }

  void on_commit(ShardId shard, LogIndex index) override { of(shard).on_commit(shard, index); }

 private:
  Recovery& of(ShardId shard) { return *all_[deal_[consensus::slice_of(shard)]]; }

  std::vector<Recovery*> all_;
  Deal deal_{};
};

}  // namespace gcoord::server
