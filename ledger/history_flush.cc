#include "ledger/history_flush.h"

#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

// One write to the store: few and large, and well within its memory.
constexpr std::size_t kWriteBytes = std::size_t{32} << 20;

// Removes what the store has of entries from `size` on, and of the nodes over them.
Status cut(ShardId shard, std::uint64_t size, const HistoryStore& store, HistoryBatch& batch) {
  const auto remove = [&batch](std::string_view key, std::span<const std::byte>) {
    batch.remove(std::string(key));
    return true;
  };
  if (size == 0) {
    GCOORD_TRY_STATUS(store.scan(peak_key(shard, 0, 0), peak_key(shard, 64, 0), remove));
  }
  for (std::uint32_t tile_level = 0; tile_level < 64 / kTileLevels; ++tile_level) {
    GCOORD_TRY_STATUS(store.scan(tile_key(shard, tile_level, size >> (kTileLevels * tile_level)),
                                 tile_key(shard, tile_level + 1, 0),
                                 remove));
  }
  return {};
}

}  // namespace

Status HistoryFlush::write(HistoryStore& store) {
  Status status = write_shards(store);
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

Status HistoryFlush::write_shards(HistoryStore& store) const {
  HistoryBatch batch;
  for (const FlushedShard& each : shards_) {
    if (each.cut) {
      GCOORD_TRY_STATUS(cut(each.shard, *each.cut, store, batch));
    }
    write_entries(each.shard, batch);
    write_nodes(each.shard, batch);
    batch.put_head(each.shard, {each.frontier, each.first, each.bytes});
    if (batch.size_bytes() >= kWriteBytes) {
      GCOORD_TRY_STATUS(store.write(batch));
      batch.clear();
    }
  }
  return batch.empty() ? Status{} : store.write(batch);
}

void HistoryFlush::write_entries(ShardId shard, HistoryBatch& batch) const {
  bool begun = false;
  for (const HistoryPending::Entry& entry : pending_->entries(shard)) {
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
