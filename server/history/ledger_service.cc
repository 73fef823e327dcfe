#include "server/history/ledger_service.h"

#include "common/bytes.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/frontier_growth.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using ledger::kMerkleHashBytes;
using ledger::MerkleFrontier;

// On disk and on the wire: never change without a new version.
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kCheckpoint = 0;
constexpr std::uint8_t kSnapshot = 1;
constexpr std::size_t kHeadBytes = 16;
constexpr std::uint32_t kSizeBits = ledger::HistoryOptions{}.levels;  // No tree is larger.

struct Head {
  std::uint64_t size = 0;
  std::optional<MerkleFrontier> frontier;  // Of a snapshot.
  std::vector<std::span<const std::byte>> tail;
  std::span<const std::byte> rest;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // Nothing when there is less.
  std::optional<std::span<const std::byte>> take(std::size_t count) {
    if (count > rest_.size()) {
      return std::nullopt;
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  template <typename T>
  std::optional<T> number() {
    const auto bytes = take(sizeof(T));
    return bytes ? std::optional{load<T>(bytes->data())} : std::nullopt;
  }

  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

bool read_frontier(Reader& reader, Head& head) {
  const auto size = reader.number<std::uint64_t>();
  if (!size || *size > head.size) {
    return false;
  }
  MerkleFrontier& frontier = head.frontier.emplace();
  frontier.size = *size;
  for (int k = 0; k < std::popcount(*size); ++k) {
    const auto peak = reader.take(kMerkleHashBytes);
    if (!peak) {
      return false;
    }
    std::copy(peak->begin(), peak->end(), frontier.peaks.emplace_back().begin());
  }
  return true;
}

bool read_tail(Reader& reader, std::uint32_t count, Head& head) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto length = reader.number<std::uint32_t>();
    const auto entry =
        length && *length <= ledger::kEntryBytesMax ? reader.take(*length) : std::nullopt;
    if (!entry) {
      return false;
    }
    head.tail.push_back(*entry);
  }
  return true;
}

// Nothing for what no release wrote. Bytes may come from a peer.
std::optional<Head> decode(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return Head{};
  }
  Reader reader(bytes);
  const auto version = reader.number<std::uint8_t>();
  const auto kind = reader.number<std::uint8_t>();
  const auto reserved = reader.number<std::uint16_t>();
  const auto count = reader.number<std::uint32_t>();
  const auto size = reader.number<std::uint64_t>();
  if (!size || *version != kVersion || *kind > kSnapshot || *reserved != 0) {
    return std::nullopt;
  }
  if (*size >> kSizeBits != 0) {
    return std::nullopt;
  }
  Head head{.size = *size};
  if (*kind == kSnapshot && !(read_frontier(reader, head) && read_tail(reader, *count, head) &&
                              head.frontier->size + head.tail.size() == head.size)) {
    return std::nullopt;
  }
  if (*kind == kCheckpoint && *count != 0) {
    return std::nullopt;
  }
  head.rest = reader.rest();
  return head;
}

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

void put_head(std::vector<std::byte>& bytes,
              std::uint8_t kind,
              std::size_t entry_count,
              std::uint64_t size) {
  put(bytes, kVersion);
  put(bytes, kind);
  put(bytes, std::uint16_t{0});
  put(bytes, static_cast<std::uint32_t>(entry_count));
  put(bytes, size);
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
  std::span<const std::byte> leaf = entry.leaf.empty() ? entry.payload : entry.leaf;
  if (entry.leaf.empty() && entry.kind != consensus::EntryKind::Command) {
    const bool configures = entry.kind == consensus::EntryKind::Configuration;
    leaf_.clear();
    put_record_header(leaf_, {configures ? RecordKind::Configuration : RecordKind::Noop});
    leaf_.insert(leaf_.end(), entry.payload.begin(), entry.payload.end());
    leaf = leaf_;
  }
  add(entry.shard, applied, leaf);
  ++applied;
  inner_.apply(entry);
}

// The tree as the worker has it, or will have it, over no more than was applied: after a crash
// history may be ahead, since it is durable before the engine knows again what is decided.
MerkleFrontier LedgerService::frontier_of(ShardId shard) {
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
  put_head(bytes, kSnapshot, tail.size(), size);
  put(bytes, frontier.size);
  for (const ledger::MerkleHash& peak : frontier.peaks) {
    bytes.insert(bytes.end(), peak.begin(), peak.end());
  }
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
  put_head(bytes, kCheckpoint, 0, size);
  inner_.checkpoint(shard, bytes);
  if (size == 0 && bytes.size() == begin + kHeadBytes) {
    bytes.resize(begin);
  }
  covered_[shard.value].store(checkpointed_[shard.value], std::memory_order_relaxed);
  checkpointed_[shard.value] = size;
}

Status LedgerService::install(ShardId shard, std::span<const std::byte> bytes) {
  const auto head = decode(bytes);
  if (!head) {
    return {StatusCode::DataLoss, "has a state without a history", kCheckpointImpossible};
  }
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
  const auto head = decode(bytes);
  const bool has_own_past = head && !head->frontier;
  return (!has_own_past || worker_->history()->first(shard) <= head->size) &&
         inner_.continues(shard, head ? head->rest : bytes);
}

bool LedgerService::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  const auto head = decode(bytes);
  // Only this node's own checkpoints have no frontier: its history is not the other's.
  if (head && !head->frontier && !bytes.empty()) {
    return false;
  }
  return head && inner_.plausible(shard, head->rest);
}

}  // namespace gcoord::server
