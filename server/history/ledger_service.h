// A service that keeps the history of the one inside: every entry that the engine tells is handed
// to history before the service applies it.
//
//   engine -> LedgerService -> LockService
//                   \-> HistoryWorker (hashing and disk, on a thread of its own)
//
// A turn only copies an entry into a batch; end_turn() hands the batch over. What a leaf is: the
// entry's payload; of a device's log what stands there (AppliedEntry::leaf); and for what an engine
// makes by itself a header of its kind before it (log_record.h).
//
// The service's bytes get a head in front: how many entries were applied and, for snapshots, the
// tree's frontier, so that who installs them goes on with the same roots. The worker may be behind:
// the entries that it has not hashed then go along. A checkpoint has no frontier, since its node's
// own history is durable before it (ledger/history/worker.h: settle); unless that begins behind it:
// a snapshot was in history, and a crash came before the log of record had it. A lesser snapshot
// may come then, of which this history says nothing, so that its frontier is kept until history
// begins again. Bytes, little-endian:
//
//   version 1, kind 1 (0: checkpoint, 1: snapshot), reserved 2, entry count 4, size 8
//   of a snapshot: the frontier's size 8, its peaks 32 each, then per entry length 4 and bytes
//   then the service's own
//
// An empty result is the initial state, of which no entry was applied. One thread, the engine's;
// floor() is for any.
#pragma once

#include "ledger/history/worker.h"
#include "server/history/ledger_head.h"
#include "server/interfaces/passing_machine.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class LedgerService final : public PassingMachine {
 public:
  // `inner` outlives it.
  LedgerService(StateMachine& inner, std::uint32_t shard_count);

  // Before the first call from the engine; it outlives those.
  void attach(ledger::HistoryWorker& worker) { worker_ = &worker; }

  // Recovery has ended: whatever history has besides is settled by what was applied.
  void recovered();

  // Hands over what was applied: in few pieces while the worker is busy, at once where the turn did
  // nothing (`rests`). After every turn.
  void end_turn(bool rests);

  // Why history can not be kept: kHistoryGap for an entry that does not follow, or the worker's
  // failure. The node stops then.
  Status failure() const { return failure_.ok() ? worker_->failure() : failure_; }

  // Entries of the shard that were applied: the index of the newest.
  std::uint64_t applied(ShardId shard) const { return applied_[shard.value]; }

  // From which entry on the shard's next recovery may need history, by any thread: what the
  // checkpoint before the newest covers.
  std::uint64_t floor(ShardId shard) const {
    return covered_[shard.value].load(std::memory_order_relaxed);
  }

  // The same of all shards.
  std::vector<std::uint64_t> floors() const { return {covered_.begin(), covered_.end()}; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  bool continues(ShardId shard, std::span<const std::byte> bytes) const override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;

  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;

 private:
  using Batch = std::shared_ptr<ledger::HistoryEntries>;

  // A state that was installed and that the worker may not have come to.
  struct Begun {
    std::uint64_t number = 0;
    ledger::MerkleFrontier frontier;
  };

  void add(ShardId shard, std::uint64_t index, std::span<const std::byte> leaf);
  void note_frontier(ShardId shard, const LedgerHead& head);
  void grow_frontier(ShardId shard, std::span<const std::byte> leaf);
  void hand_over();
  void forget_hashed();
  ledger::MerkleFrontier frontier_of(ShardId shard);
  std::vector<std::span<const std::byte>> tail_of(ShardId shard, std::uint64_t from) const;

  Status failure_;
  ledger::HistoryWorker* worker_ = nullptr;
  std::vector<std::uint64_t> applied_;               // By shard.
  std::vector<std::uint64_t> checkpointed_;          // By shard: as of its last checkpoint.
  std::vector<std::atomic<std::uint64_t>> covered_;  // And the one before.
  Batch batch_ = std::make_shared<ledger::HistoryEntries>();
  std::deque<Batch> handed_over_;                   // Not known to be hashed.
  std::uint64_t hashed_ = 0;                        // Batches of them that were taken off.
  std::unordered_map<std::uint32_t, Begun> begun_;  // By shard.
  // By shard, where history begins behind what was applied: the tree of that. Nothing there tells.
  std::unordered_map<std::uint32_t, ledger::MerkleFrontier> behind_;
  std::vector<std::byte> leaf_;  // Kept warm.
};

}  // namespace gcoord::server
