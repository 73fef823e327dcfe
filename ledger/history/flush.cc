#include "ledger/history/flush.h"

#include "common/assert.h"
#include "common/device/prefetch.h"
#include "ledger/history/cut.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace gcoord::ledger {
namespace {

// Entries lie anywhere in many megabytes: so many ahead is time for one to come.
constexpr std::size_t kAhead = 6;
constexpr std::size_t kLineBytes = 64;
// About what a shard adds beside its entries: its head, with peaks.
constexpr std::size_t kHeadBytes = 320;

}  // namespace

Status HistoryFlush::write(HistoryStore& store, HistoryBatch& batch) {
  Status status = write_shards(store, batch);
  batch.clear();
  {
    const std::lock_guard lock(mutex_);
    outcome_ = status;
  }
  ended_.notify_all();
  return status;
}

bool HistoryFlush::written() const {
  const std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

Status HistoryFlush::wait() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return outcome_.has_value(); });
  return *outcome_;
}

Status HistoryFlush::write_shards(HistoryStore& store, HistoryBatch& batch) const {
  // In steps, so that the next flush fits in it, too; pages that are never touched cost nothing.
  const std::size_t about = pending_->size_bytes() + shards_.size() * kHeadBytes;
  batch.reserve(std::min(std::bit_ceil(about), 2 * write_bytes_));
  std::optional<HistoryCut> cut;
  const std::vector<HistoryPending::Entry> entries = pending_->entries();
  Entries rest = entries;
  for (const FlushedShard& each : shards_) {
    if (each.cut) {
      if (!cut) {
        cut.emplace(store);
      }
      GCOORD_TRY_STATUS(cut->remove_from(each.shard, *each.cut, batch));
    }
    write_entries(each.shard, rest, batch);
    write_nodes(each.shard, batch);
    batch.put_head(each.shard, {each.frontier, each.first, each.bytes});
    if (batch.size_bytes() >= write_bytes_) {
      GCOORD_TRY_STATUS(store.write(batch));
      batch.clear();
    }
  }
  GCOORD_ASSERT(rest.empty());
  return batch.empty() ? Status{} : store.write(batch);
}

void HistoryFlush::write_entries(ShardId shard, Entries& rest, HistoryBatch& batch) {
  bool begun = false;
  for (; !rest.empty() && rest.front().shard == shard.value; rest = rest.subspan(1)) {
    const HistoryPending::Entry& entry = rest.front();
    if (rest.size() > kAhead) {
      const std::span<const std::byte> soon = rest[kAhead].bytes;
      for (std::size_t at = 0; at < soon.size(); at += kLineBytes) {
        prefetch(soon.data() + at);
      }
    }
    if (!begun || entry.index % kTileThings == 0) {
      batch.begin_fragment({shard, 0, entry.index});
    }
    begun = true;
    batch.add(entry.bytes);
  }
}

// Nodes of a level come by rising index, and side by side unless something was taken back.
void HistoryFlush::write_nodes(ShardId shard, HistoryBatch& batch) const {
  std::uint32_t level = ~0u;
  std::uint64_t next = 0;
  for (const PendingNode& node : pending_->nodes(shard)) {
    if (node.level % kTileLevels != 0 || node.level == 0) {
      batch.put_peak(shard, node.level, node.index, node.hash);
      continue;
    }
    if (node.level != level || node.index != next || node.index % kTileThings == 0) {
      batch.begin_fragment({shard, node.level / kTileLevels, node.index});
    }
    batch.add(node.hash);
    level = node.level;
    next = node.index + 1;
  }
}

}  // namespace gcoord::ledger
