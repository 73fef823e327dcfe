// Table of the heads in the cluster log, and of the shards with unpublished entries.
//
// One row per shard, 24 bytes: a million shards take 24 MB. Publication entries in shard 0 are not
// counted as news, because a round would always leave one behind: they are published with whatever
// comes next. One thread.
#pragma once

#include "common/ids.h"
#include "common/shard_bits.h"
#include "ledger/notes/shard_head.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

struct PublishedHead {
  std::uint64_t size = 0;  // Of the newest head in the cluster log; 0: none.
  std::uint64_t leaf = 0;  // Its index there.
};

class PublishedHeads {
 public:
  explicit PublishedHeads(std::uint32_t shard_count)
      : rows_(shard_count), changed_(shard_count), refreshed_(shard_count) {}

  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(rows_.size()); }

  // The shard has at least `size` entries worth publishing. Whether the cluster log lacks some.
  bool touch(ShardId shard, std::uint64_t size);

  // A leaf of the cluster log; in the order of the log.
  void on_leaf(std::uint64_t index, const ledger::ShardHead& head);

  // The newest head of the shard is to be published again, whether or not it has changed.
  void refresh(ShardId shard);

  bool refreshed(ShardId shard) const { return refreshed_.test(shard.value); }

  PublishedHead at(ShardId shard) const { return rows_[shard.value].head; }

  // Shards with news.
  std::uint32_t changed_count() const { return changed_count_; }

  // The first shard at or behind `from` that has news; shard_count() if there is none.
  std::uint32_t next_changed(std::uint32_t from) const {
    return changed_.next_in_either(changed_, from);
  }

 private:
  struct Row {
    std::uint64_t wanted = 0;
    PublishedHead head;
  };

  void look(std::uint32_t shard);

  std::vector<Row> rows_;
  std::uint32_t changed_count_ = 0;
  ShardBits changed_;  // Or to be published again.
  ShardBits refreshed_;
};

}  // namespace gcoord::server
