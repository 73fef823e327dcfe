#include "server/history/ledger_service.h"

#include "common/bytes.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/hash.h"
#include "server/interfaces/errors.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using ledger::MerkleFrontier;

Status gap(const AppliedEntry& entry, std::uint64_t applied) {
  return {StatusCode::DataLoss,
          "shard " + std::to_string(entry.shard.value) + " was told of entry " +
              std::to_string(entry.index.value) + " after " + std::to_string(applied) +
              ledger::kRotAdvice,
          ledger::kHistoryGap};
}

template <typename T>
void put(std::vector<std::byte>& bytes, T value) {
  std::array<std::byte, sizeof value> stored{};
  store(stored.data(), value);
  bytes.insert(bytes.end(), stored.begin(), stored.end());
}

void put(std::vector<std::byte>& bytes, const MerkleFrontier& frontier) {
  put(bytes, frontier.size);
  for (const ledger::MerkleHash& peak : frontier.peaks) {
    bytes.insert(bytes.end(), peak.begin(), peak.end());
  }
}

}  // namespace

LedgerService::LedgerService(StateMachine& inner, std::uint32_t shard_count)
    : PassingMachine(inner),
      applied_(shard_count),
      checkpointed_(shard_count),
      covered_(shard_count) {}

void LedgerService::recovered() {
  hand_over();
  worker_->align(applied_);
}

void LedgerService::end_turn(bool rests) {
  // Few: handing over costs more than hashing them.
  constexpr std::size_t kFewEntries = 256;
  if (rests || worker_->lag_entries() == 0 || batch_->entries.size() >= kFewEntries) {
    hand_over();
  }
}

void LedgerService::hand_over() {
  forget_hashed();
  if (batch_->entries.empty()) {
    return;
  }
  handed_over_.push_back(batch_);
  auto next = std::make_shared<ledger::HistoryEntries>();
  next->reserve_as(*batch_);
  worker_->append(std::exchange(batch_, std::move(next)));
}

void LedgerService::forget_hashed() {
  for (const std::uint64_t hashed = worker_->appended(); hashed_ < hashed; ++hashed_) {
    handed_over_.pop_front();
  }
}

void LedgerService::add(ShardId shard, std::uint64_t index, std::span<const std::byte> leaf) {
  if (batch_->full()) {
    hand_over();
  }
  batch_->add(shard, index, leaf);
}

void LedgerService::apply(const AppliedEntry& entry) {
  std::uint64_t& applied = applied_[entry.shard.value];
  if (entry.index.value != applied + 1) {
    failure_ = failure_.ok() ? gap(entry, applied) : failure_;
    return;
  }
  const std::span<const std::byte> leaf = ledger_leaf(entry, leaf_);
  add(entry.shard, applied, leaf);
  ++applied;
  if (!behind_.empty()) {
    grow_frontier(entry.shard, leaf);
  }
  inner_.apply(entry);
}

// The tree as the worker has it, or will have it, over no more than was applied: after a crash
// history may be ahead, since it is durable before the engine knows again what is decided.
MerkleFrontier LedgerService::frontier_of(ShardId shard) {
  if (const auto behind = behind_.find(shard.value); behind != behind_.end()) {
    return behind->second;
  }
  if (const auto begun = begun_.find(shard.value); begun != begun_.end()) {
    if (worker_->begun() < begun->second.number) {
      return begun->second.frontier;
    }
    begun_.erase(begun);
  }
  const std::uint32_t number = shard.value;
  auto frontiers = worker_->history()->frontiers({&number, 1});
  if (!frontiers.ok()) {
    return {};  // The device failed: the worker says so, too, and the node is about to stop.
  }
  MerkleFrontier& frontier = frontiers.value().front();
  if (const std::uint64_t applied = applied_[number]; frontier.size > applied) {
    auto lesser = ledger::frontier_at(*worker_->history()->reader(shard), applied);
    // Where that cannot be read, what goes out is too large, and no node takes it.
    return lesser.ok() ? std::move(lesser).value() : std::move(frontier);
  }
  return std::move(frontier);
}

// Entries of the shard from that one on that were not hashed when handed_over_ was looked at last.
std::vector<std::span<const std::byte>> LedgerService::tail_of(ShardId shard,
                                                               std::uint64_t from) const {
  std::vector<std::span<const std::byte>> tail;
  const auto collect = [&](const ledger::HistoryEntries& batch) {
    for (const ledger::HistoryEntry& entry : batch.entries) {
      if (entry.shard == shard.value && entry.index >= from) {
        tail.push_back(batch.bytes_of(entry));
      }
    }
  };
  for (const Batch& batch : handed_over_) {
    collect(*batch);
  }
  collect(*batch_);
  return tail;
}

void LedgerService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  const std::uint64_t size = applied_[shard.value];
  const MerkleFrontier frontier = frontier_of(shard);
  const auto tail = tail_of(shard, frontier.size);
  put_ledger_head(bytes, {LedgerHeadKind::Snapshot, tail.size(), size});
  put(bytes, frontier);
  for (const std::span<const std::byte> entry : tail) {
    put(bytes, static_cast<std::uint32_t>(entry.size()));
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  const std::size_t head_end = bytes.size();
  inner_.serialize(shard, bytes);
  if (size == 0 && bytes.size() == head_end) {
    bytes.resize(begin);
  }
}

void LedgerService::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  hand_over();  // What the checkpoint covers is durable first: it settles what was handed over.
  const std::size_t begin = bytes.size();
  const std::uint64_t size = applied_[shard.value];
  const auto behind = behind_.find(shard.value);
  const bool tells = behind != behind_.end();
  put_ledger_head(bytes, {tells ? LedgerHeadKind::Snapshot : LedgerHeadKind::Checkpoint, 0, size});
  if (tells) {
    put(bytes, behind->second);
  }
  inner_.checkpoint(shard, bytes);
  if (size == 0 && bytes.size() == begin + kLedgerHeadBytes) {
    bytes.resize(begin);
  }
  covered_[shard.value].store(checkpointed_[shard.value], std::memory_order_relaxed);
  checkpointed_[shard.value] = size;
}

// A state was installed: whether history begins behind it. That may have come from an earlier
// life, whose log of record does not say so.
void LedgerService::note_frontier(ShardId shard, const LedgerHead& head) {
  behind_.erase(shard.value);
  if (!head.frontier || worker_->history()->first(shard) <= head.size) {
    return;
  }
  MerkleFrontier frontier = *head.frontier;
  for (const std::span<const std::byte> leaf : head.tail) {
    append_leaf(frontier, ledger::hash_leaf(leaf));
  }
  behind_.emplace(shard.value, std::move(frontier));
}

void LedgerService::grow_frontier(ShardId shard, std::span<const std::byte> leaf) {
  const auto behind = behind_.find(shard.value);
  if (behind == behind_.end()) {
    return;
  }
  append_leaf(behind->second, ledger::hash_leaf(leaf));
  if (behind->second.size >= worker_->history()->first(shard)) {
    behind_.erase(behind);
  }
}

Status LedgerService::install(ShardId shard, std::span<const std::byte> bytes) {
  const auto head = decode_ledger_head(bytes);
  if (!head) {
    return {StatusCode::DataLoss, "has a state without a history", kCheckpointImpossible};
  }
  note_frontier(shard, *head);
  if (head->frontier) {
    hand_over();
    begun_[shard.value] = {worker_->begin_at(shard, *head->frontier), *head->frontier};
    for (std::size_t k = 0; k < head->tail.size(); ++k) {
      add(shard, head->frontier->size + k, head->tail[k]);
    }
  }
  applied_[shard.value] = head->size;
  checkpointed_[shard.value] = head->size;
  covered_[shard.value].store(head->size, std::memory_order_relaxed);
  return inner_.install(shard, head->rest);
}

bool LedgerService::continues(ShardId shard, std::span<const std::byte> bytes) const {
  const auto head = decode_ledger_head(bytes);
  const bool has_own_past = head && !head->frontier;
  return (!has_own_past || worker_->history()->first(shard) <= head->size) &&
         inner_.continues(shard, head ? head->rest : bytes);
}

bool LedgerService::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  const auto head = decode_ledger_head(bytes);
  // Only this node's own checkpoints have no frontier: its history is not the other's.
  if (head && !head->frontier && !bytes.empty()) {
    return false;
  }
  return head && inner_.plausible(shard, head->rest);
}

}  // namespace gcoord::server
