#include "ledger/heads/published_heads.h"

#include <algorithm>

namespace gcoord::server {

bool PublishedHeads::touch(ShardId shard, std::uint64_t size) {
  Row& row = rows_[shard.value];
  row.wanted = std::max(row.wanted, size);
  look(shard.value);
  return row.wanted > row.size;
}

void PublishedHeads::on_leaf(std::uint64_t index, const ledger::ShardHead& head) {
  if (head.shard.value >= rows_.size()) {
    return;  // Of a cluster with more shards; nothing here is published by it.
  }
  Row& row = rows_[head.shard.value];
  if (head.size >= row.size) {
    row.leaf = index;
    row.size = head.size;
    refreshed_.reset(head.shard.value);
  }
  look(head.shard.value);
}

void PublishedHeads::on_signed_leaf(const ledger::ShardHead& head) {
  if (head.shard.value < rows_.size() && head.size > sizes_->at(head.shard)) {
    sizes_->set(head.shard, head.size);
  }
}

void PublishedHeads::refresh(ShardId shard) {
  refreshed_.set(shard.value);
  look(shard.value);
}

void PublishedHeads::look(std::uint32_t shard) {
  const Row& row = rows_[shard];
  const bool changed = row.wanted > row.size || refreshed_.test(shard);
  if (changed && !changed_.test(shard)) {
    changed_.set(shard);
    ++changed_count_;
  } else if (!changed && changed_.test(shard)) {
    changed_.reset(shard);
    --changed_count_;
  }
}

}  // namespace gcoord::server
