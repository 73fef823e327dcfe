#include "ledger/history/pending.h"

#include "common/device/prefetch.h"

#include <numeric>
#include <utility>

namespace gcoord::ledger {

void HistoryPending::add(std::shared_ptr<const HistoryEntries> batch) {
  const std::lock_guard lock(mutex_);
  for (const HistoryEntry& entry : batch->entries) {
    prefetch(&newest_[entry.shard]);
  }
  for (const HistoryEntry& entry : batch->entries) {
    std::uint32_t& newest = newest_[entry.shard];
    if (newest == 0) {
      shards_.push_back(entry.shard);
    }
    links_.push_back(
        {batch->bytes_of(entry).data(), entry.index, entry.length, entry.shard, newest});
    newest = static_cast<std::uint32_t>(links_.size());
  }
  bytes_ += batch->payload.size() + batch->entries.size() * (sizeof(HistoryEntry) + sizeof(Link));
  batches_.push_back(std::move(batch));
}

void HistoryPending::add_node(ShardId shard, const PendingNode& node) {
  const std::lock_guard lock(mutex_);
  nodes_[{shard.value, node.level, node.index}] = node.hash;
}

// Links lie in the order in which entries came, so each shard's are in order already.
std::vector<HistoryPending::Entry> HistoryPending::entries() const {
  std::vector<std::uint32_t> next(newest_.size() + 1);  // By shard: where its next entry goes.
  for (const Link& link : links_) {
    ++next[link.shard + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Entry> entries(links_.size());
  for (const Link& link : links_) {
    entries[next[link.shard]++] = link.entry();
  }
  return entries;
}

std::vector<PendingNode> HistoryPending::nodes(ShardId shard) const {
  std::vector<PendingNode> nodes;
  for (auto each = nodes_.lower_bound({shard.value, 0, 0});
       each != nodes_.end() && std::get<0>(each->first) == shard.value;
       ++each) {
    nodes.push_back({std::get<1>(each->first), std::get<2>(each->first), each->second});
  }
  return nodes;
}

void HistoryPending::look_up(ShardId shard, std::uint64_t first, TileEntries& into) const {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t place = newest_[shard.value]; place != 0; place = links_[place - 1].older) {
    const Link& link = links_[place - 1];
    if (link.index < first) {
      break;
    }
    const std::uint64_t at = link.index - first;
    if (at < into.size() && !into[at]) {
      const auto bytes = link.entry().bytes;
      into[at].emplace(bytes.begin(), bytes.end());
    }
  }
}

// The bytes live as long as this: they are hashed without the lock.
void HistoryPending::hash_leaves(ShardId shard,
                                 std::uint64_t first,
                                 std::span<std::optional<MerkleHash>> into) const {
  std::vector<Entry> found;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t place = newest_[shard.value]; place != 0; place = links_[place - 1].older) {
      const Link& link = links_[place - 1];
      if (link.index < first) {
        break;
      }
      if (link.index - first < into.size()) {
        found.push_back(link.entry());
      }
    }
  }
  for (const Entry& entry : found) {
    std::optional<MerkleHash>& leaf = into[entry.index - first];
    leaf = leaf ? leaf : std::optional{hash_leaf(entry.bytes)};
  }
}

std::optional<MerkleHash> HistoryPending::node(ShardId shard,
                                               std::uint32_t level,
                                               std::uint64_t index) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find({shard.value, level, index});
  return found == nodes_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace gcoord::ledger
