// Table of the heads in the cluster log, and of the shards with unpublished entries.
//
// One row per shard, 32 bytes: a million shards take 32 MB. Publication entries in shard 0 are not
// counted as news, because a round would always leave one behind: they are published with whatever
// comes next. One thread.
#pragma once

#include "common/ids.h"
#include "common/shard_bits.h"
#include "ledger/notes/shard_head.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

struct PublishedHead {
  std::uint64_t size = 0;  // Of the newest head in the cluster log, signed or not; 0: none.
  std::uint64_t leaf = 0;  // Its index there.
};

// Of each shard the size of its newest head under a cluster log that a majority has signed, as far
// as this node knows. One thread writes, any thread reads.
class PublishedSizes {
 public:
  explicit PublishedSizes(std::uint32_t shard_count) : sizes_(shard_count) {}

  std::uint64_t at(ShardId shard) const {
    return sizes_[shard.value].load(std::memory_order_relaxed);
  }

  // Relaxed: a reader that sees an older size takes less for published.
  void set(ShardId shard, std::uint64_t size) {
    sizes_[shard.value].store(size, std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<std::uint64_t>> sizes_;
};

class PublishedHeads {
 public:
  explicit PublishedHeads(std::uint32_t shard_count)
      : rows_(shard_count),
        sizes_(std::make_shared<PublishedSizes>(shard_count)),
        changed_(shard_count),
        refreshed_(shard_count) {}

  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(rows_.size()); }

  // The shard has at least `size` entries worth publishing. Whether the cluster log lacks some.
  bool touch(ShardId shard, std::uint64_t size);

  // A leaf of the cluster log; in the order of the log.
  void on_leaf(std::uint64_t index, const ledger::ShardHead& head);

  // A leaf of the cluster log that a majority has signed.
  void on_signed_leaf(const ledger::ShardHead& head);

  // The newest head of the shard is to be published again, whether or not it has changed.
  void refresh(ShardId shard);

  bool refreshed(ShardId shard) const { return refreshed_.test(shard.value); }

  PublishedHead at(ShardId shard) const {
    const Row& row = rows_[shard.value];
    return {.size = row.size, .leaf = row.leaf};
  }

  // As of on_signed_leaf. Lives on for those who hold it.
  std::shared_ptr<const PublishedSizes> sizes() const { return sizes_; }

  // Shards with news.
  std::uint32_t changed_count() const { return changed_count_; }

  // The first shard at or behind `from` that has news; shard_count() if there is none.
  std::uint32_t next_changed(std::uint32_t from) const {
    return changed_.next_in_either(changed_, from);
  }

 private:
  struct Row {
    std::uint64_t wanted = 0;
    std::uint64_t size = 0;  // As in PublishedHead, and the next.
    std::uint64_t leaf = 0;
  };

  void look(std::uint32_t shard);

  std::vector<Row> rows_;
  std::shared_ptr<PublishedSizes> sizes_;
  std::uint32_t changed_count_ = 0;
  ShardBits changed_;  // Or to be published again.
  ShardBits refreshed_;
};

}  // namespace gcoord::server
