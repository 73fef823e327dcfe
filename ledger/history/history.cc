#include "ledger/history/history.h"

#include "common/assert.h"
#include "common/device/prefetch.h"
#include "ledger/base/error_details.h"
#include "ledger/history/reader.h"
#include "ledger/merkle/frontier_growth.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

Status gap(ShardId shard, std::uint64_t size, std::uint64_t wanted) {
  return {StatusCode::DataLoss,
          "the history of shard " + std::to_string(shard.value) + " ends with " +
              std::to_string(size) + " entries and lacks those up to " + std::to_string(wanted) +
              kRotAdvice,
          kHistoryGap};
}

// Pruned entries that are not worth rewriting a store for.
constexpr std::uint64_t kReclaimBytes = std::uint64_t{64} << 20;

}  // namespace

Result<std::shared_ptr<History>> History::open(const HistoryOptions& options,
                                               std::unique_ptr<MerkleDevice> device,
                                               HistoryStore& store) {
  std::shared_ptr<History> history(new History(options, store));
  const MerkleLimits limits{.shard_count = options.shard_count,
                            .levels = options.levels,
                            .leaves_max = kBatchEntriesMax,
                            .payload_bytes_max = kBatchBytesMax + kEntryBytesMax};
  GCOORD_TRY(auto trees, MerkleTrees::make(std::move(device), limits));
  history->trees_ = std::make_unique<HistoryTrees>(std::move(trees));
  GCOORD_TRY_STATUS(history->load());
  return history;
}

Status History::load() {
  std::vector<std::uint32_t> shards;
  std::vector<MerkleFrontier> frontiers;
  Status failure;
  const auto take = [&](std::string_view key, std::span<const std::byte> value) {
    const auto shard = head_place(key);
    auto head = shard && shard->value < options_.shard_count ? decode_history_head(*shard, value)
                                                             : std::nullopt;
    if (!head || head->frontier.size >> options_.levels != 0) {
      failure = history_rot(shard.value_or(ShardId{}), 0, "its head cannot be read");
      return false;
    }
    Row& row = rows_[shard->value];
    row.size = head->frontier.size;
    row.first = head->first;
    add_bytes(row, head->bytes);
    store_.set_horizon(*shard, head->first);
    shards.push_back(shard->value);
    frontiers.push_back(std::move(head->frontier));
    return true;
  };
  GCOORD_TRY_STATUS(store_.scan(head_key(ShardId{0}), head_key(ShardId{~0u}), take));
  GCOORD_TRY_STATUS(failure);
  return trees_->restore(shards, frontiers);
}

// --- Appending

// In memory mode what comes again takes the tree back to before it; else it is passed over.
std::shared_ptr<const HistoryEntries> History::without_repeated(
    const std::shared_ptr<const HistoryEntries>& batch) {
  const auto repeats = [this](const HistoryEntry& entry) {
    return entry.index < rows_[entry.shard].size.load(std::memory_order_relaxed);
  };
  const auto count = std::count_if(batch->entries.begin(), batch->entries.end(), repeats);
  if (count == 0) {
    return batch;
  }
  repeated_ += static_cast<std::uint64_t>(count);
  auto rest = std::make_shared<HistoryEntries>();
  for (const HistoryEntry& entry : batch->entries) {
    if (!repeats(entry)) {
      rest->add(ShardId{entry.shard}, entry.index, batch->bytes_of(entry));
    }
  }
  return rest;
}

Status History::check_order(const HistoryEntries& batch) {
  ahead_.clear();
  for (const HistoryEntry& entry : batch.entries) {
    GCOORD_ASSERT(entry.shard < options_.shard_count && entry.length <= kEntryBytesMax);
    const auto [next, is_first] = ahead_.try_emplace(entry.shard, size(ShardId{entry.shard}));
    if (is_first && !options_.decisions_last && entry.index < next->second) {
      GCOORD_TRY_STATUS(rewind(ShardId{entry.shard}, entry.index));
      next->second = entry.index;
    }
    if (entry.index > next->second) {
      return gap(ShardId{entry.shard}, next->second, entry.index);
    }
    next->second = std::max(next->second, entry.index + 1);
  }
  return {};
}

// Whether every shard goes on from where it is, entry by entry, as nearly all batches do: then
// nothing is missing and nothing comes again.
bool History::continues(const HistoryEntries& sorted) const {
  for (std::size_t number = 0; number < trees_->run_count(); ++number) {
    const std::uint32_t shard = trees_->run(number).shard.value;
    GCOORD_ASSERT(shard < options_.shard_count);
    prefetch(&rows_[shard]);
  }
  for (std::size_t number = 0; number < trees_->run_count(); ++number) {
    const HistoryTrees::Run run = trees_->run(number);
    std::uint64_t next = rows_[run.shard.value].size.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < run.places.size(); ++k, ++next) {
      const HistoryEntry& entry = run.entry(sorted, k);
      GCOORD_ASSERT(entry.length <= kEntryBytesMax);
      if (entry.index != next) {
        return false;
      }
    }
  }
  return true;
}

Status History::append(const std::shared_ptr<const HistoryEntries>& batch) {
  trees_->sort(*batch);
  std::shared_ptr<const HistoryEntries> fresh = batch;
  if (!continues(*batch)) {
    GCOORD_TRY_STATUS(check_order(*batch));
    fresh = without_repeated(batch);
    trees_->sort(*fresh);
  }
  if (fresh->entries.empty()) {
    return {};
  }
  GCOORD_TRY_STATUS(trees_->append(*fresh, *growing_));
  growing_->add(fresh);
  tell_pending();
  count_appended(*fresh);
  return {};
}

// Run by run: the shards' rows lie far apart, and what all share is dear to change.
void History::count_appended(const HistoryEntries& sorted) {
  std::uint64_t bytes = 0;
  for (std::size_t number = 0; number < trees_->run_count(); ++number) {
    const HistoryTrees::Run run = trees_->run(number);
    std::uint64_t run_bytes = 0;
    for (std::size_t k = 0; k < run.places.size(); ++k) {
      run_bytes += run.entry(sorted, k).length;
    }
    Row& row = rows_[run.shard.value];
    row.bytes.fetch_add(run_bytes, std::memory_order_relaxed);
    bytes += run_bytes;
    // Release: pairs with the acquire of size(); the entries can be looked up by now.
    row.size.store(run.entry(sorted, run.places.size() - 1).index + 1, std::memory_order_release);
  }
  entry_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  hashed_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  hashed_ += sorted.entries.size();
}

// --- Beginning somewhere else

Status History::begin_at(ShardId shard, const MerkleFrontier& frontier) {
  GCOORD_ASSERT(frontier.sane());
  const std::uint64_t present = size(shard);
  if (frontier.size <= present && options_.decisions_last) {
    return {};
  }
  if (frontier.size <= present && frontier.size >= first(shard)) {
    const auto own = frontier_at(*reader(shard), frontier.size);
    if (own.ok() && own.value() == frontier) {
      return rewind(shard, frontier.size);
    }
  }
  return reset(shard, frontier);
}

Status History::forget(ShardId shard) {
  return reset(shard, MerkleFrontier{});
}

Status History::rewind(ShardId shard, std::uint64_t wanted) {
  if (wanted == size(shard)) {
    return {};
  }
  if (wanted == 0) {
    return forget(shard);  // It may have begun behind that.
  }
  if (growing_->has(shard) || leaving_ != nullptr) {
    GCOORD_TRY_STATUS(flush());
  }
  GCOORD_TRY(const MerkleFrontier frontier, frontier_at(*reader(shard), wanted));
  const std::uint32_t number = shard.value;
  GCOORD_TRY_STATUS(trees_->restore({&number, 1}, {&frontier, 1}));
  rows_[number].size.store(wanted, std::memory_order_release);
  const auto [cut, is_new] = cuts_.try_emplace(number, wanted);
  cut->second = std::min(cut->second, wanted);
  touched_.insert(number);
  return {};
}

Status History::reset(ShardId shard, const MerkleFrontier& frontier) {
  if (growing_->has(shard) || leaving_ != nullptr) {
    GCOORD_TRY_STATUS(flush());
  }
  const std::uint32_t number = shard.value;
  GCOORD_TRY_STATUS(trees_->restore({&number, 1}, {&frontier, 1}));
  Row& row = rows_[number];
  row.first.store(frontier.size, std::memory_order_release);
  row.size.store(frontier.size, std::memory_order_release);
  take_bytes(row, row.bytes.load(std::memory_order_relaxed));
  cuts_[number] = 0;
  touched_.insert(number);
  std::size_t peak = 0;
  for (std::uint32_t level = 64; level-- > 0;) {
    if ((frontier.size >> level & 1) != 0) {
      const std::uint64_t index = (frontier.size >> level) - 1;
      growing_->add_node(shard, {level, index, frontier.peaks[peak++]});
    }
  }
  return {};
}

Status History::align(std::span<const std::uint64_t> applied) {
  GCOORD_ASSERT(applied.size() == rows_.size());
  for (std::uint32_t number = 0; number < rows_.size(); ++number) {
    const ShardId shard{number};
    if (size(shard) < applied[number]) {
      return gap(shard, size(shard), applied[number]);
    }
    if (size(shard) > applied[number] && !options_.decisions_last) {
      GCOORD_TRY_STATUS(rewind(shard, applied[number]));
    }
  }
  return {};
}

// --- Into the store

std::vector<std::uint32_t> History::changed_shards() const {
  std::vector<std::uint32_t> shards(growing_->shards().begin(), growing_->shards().end());
  for (const std::uint32_t shard : touched_) {
    if (!growing_->has(ShardId{shard})) {
      shards.push_back(shard);
    }
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

Status History::flush() {
  if (leaving_ != nullptr) {
    GCOORD_TRY_STATUS(leaving_->wait());
    end_flush();
  }
  GCOORD_TRY(const std::shared_ptr<HistoryFlush> flush, begin_flush());
  if (flush != nullptr) {
    GCOORD_TRY_STATUS(flush->write(store_));
    end_flush();
  }
  return {};
}

Result<std::shared_ptr<HistoryFlush>> History::begin_flush() {
  GCOORD_ASSERT(leaving_ == nullptr);
  const std::vector<std::uint32_t> numbers = changed_shards();
  if (numbers.empty()) {
    return std::shared_ptr<HistoryFlush>{};
  }
  GCOORD_TRY(std::vector<MerkleFrontier> heads, frontiers(numbers));
  std::vector<FlushedShard> shards;
  shards.reserve(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const ShardId shard{numbers[k]};
    const auto from = cuts_.find(shard.value);
    shards.push_back({.shard = shard,
                      .frontier = std::move(heads[k]),
                      .first = first(shard),
                      .bytes = rows_[shard.value].bytes.load(std::memory_order_relaxed),
                      .pruned = touched_.contains(shard.value),
                      .cut = from == cuts_.end() ? std::nullopt : std::optional{from->second}});
  }
  auto flush =
      std::make_shared<HistoryFlush>(growing_, std::move(shards), options_.batching.write_bytes);
  {
    const std::lock_guard lock(memory_mutex_);
    leaving_ = flush;
    growing_ = std::make_shared<HistoryPending>(options_.shard_count);
  }
  tell_pending();
  touched_.clear();
  cuts_.clear();
  return flush;
}

void History::end_flush() {
  GCOORD_ASSERT(leaving_ != nullptr && leaving_->written());
  for (const FlushedShard& each : leaving_->shards()) {
    if (each.pruned) {
      store_.set_horizon(each.shard, each.first);
    }
  }
  // As much again as is kept: then a store that nothing is merged in any more is worth rewriting.
  if (pruned_bytes_ > kReclaimBytes && pruned_bytes_ > store_.disk_bytes() / 2) {
    pruned_bytes_ = 0;
    store_.reclaim();
  }
  std::shared_ptr<const HistoryFlush> written;  // Freed without the lock.
  {
    const std::lock_guard lock(memory_mutex_);
    written = std::move(leaving_);
    leaving_ = nullptr;
  }
  tell_pending();
  ++flushes_;
}

void History::add_bytes(Row& row, std::uint64_t bytes) {
  row.bytes.fetch_add(bytes, std::memory_order_relaxed);
  entry_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void History::take_bytes(Row& row, std::uint64_t bytes) {
  row.bytes.fetch_sub(bytes, std::memory_order_relaxed);
  entry_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void History::tell_pending() {
  pending_bytes_ =
      growing_->size_bytes() + (leaving_ == nullptr ? 0 : leaving_->pending().size_bytes());
}

History::Memory History::memory() const {
  const std::lock_guard lock(memory_mutex_);
  return {growing_, leaving_};
}

void History::prune(ShardId shard, std::uint64_t wanted) {
  Row& row = rows_[shard.value];
  const std::uint64_t next = std::min(wanted, size(shard)) / kTileThings * kTileThings;
  const std::uint64_t before = first(shard);
  if (next <= before) {
    return;
  }
  // In the same measure: tiles of one shard hold about as much each.
  const std::uint64_t bytes = row.bytes.load(std::memory_order_relaxed);
  const std::uint64_t share = bytes / (size(shard) - before) * (next - before);
  take_bytes(row, share);
  pruned_bytes_ += share;
  row.first.store(next, std::memory_order_release);
  pruned_ += next - before;
  touched_.insert(shard.value);
}

// --- Looking

std::shared_ptr<const TreeReader> History::reader(ShardId shard) const {
  return std::make_shared<HistoryReader>(shared_from_this(), shard);
}

Result<std::vector<MerkleFrontier>> History::frontiers(
    std::span<const std::uint32_t> shards) const {
  return trees_->frontiers(shards);
}

Result<std::vector<ShardHead>> History::heads(std::span<const ShardId> shards) const {
  std::vector<std::uint32_t> numbers;
  for (const ShardId shard : shards) {
    numbers.push_back(shard.value);
  }
  GCOORD_TRY(const std::vector<MerkleFrontier> all, frontiers(numbers));
  std::vector<ShardHead> heads;
  for (std::size_t k = 0; k < shards.size(); ++k) {
    heads.push_back({shards[k], all[k].size, root_of(all[k])});
  }
  return heads;
}

HistoryCounts History::counts() const {
  return {hashed_.load(), repeated_.load(), flushes_.load(), pruned_.load(), hashed_bytes_.load()};
}

std::size_t History::pending_bytes() const {
  return pending_bytes_.load(std::memory_order_relaxed);
}

}  // namespace gcoord::ledger
