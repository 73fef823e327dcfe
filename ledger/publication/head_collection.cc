#include "ledger/publication/head_collection.h"

#include "ledger/heads/head_review.h"

#include <algorithm>
#include <cstddef>

namespace gcoord::server {
namespace {

// Heads of a round that are read again before they are published: some milliseconds of reading, as
// the last tile of a tree is hashed anew.
constexpr std::size_t kReadBackMax = 64;
// A shard that no majority agreed on is left alone for so long.
constexpr std::uint64_t kHoldMs = 1000;

}  // namespace

void HeadCollection::hold(ShardId shard) {
  held_[shard] = {base_.now_ms + kHoldMs, base_.news_ms};
}

// The heads of the next changed shards. The first of them are read again from where they are kept:
// all, but for rounds in which very many shards have news.
std::vector<ledger::ShardHead> HeadCollection::collect() {
  const std::vector<ShardId> shards = changed_shards();
  auto known = base_.port.heads(shards);
  if (!known.ok()) {
    base_.fail(known.status());
    return {};
  }
  std::vector<ledger::ShardHead> heads;
  for (const ledger::ShardHead& head : known.value()) {
    const std::uint64_t before = base_.heads.at(head.shard).size;
    const bool again = head.size != 0 && head.size == before && base_.heads.refreshed(head.shard);
    if (head.size <= before && !again) {
      continue;
    }
    if (heads.size() >= kReadBackMax || read_back(head)) {
      heads.push_back(head);
    }
  }
  return heads;
}

// False: the head is not to be had again from the disk.
bool HeadCollection::read_back(const ledger::ShardHead& head) {
  const auto tree = base_.port.tree(head.shard);
  const Status status = tree == nullptr ? Status{} : server::read_back(*tree, head);
  if (status.ok()) {
    return true;
  }
  hold(head.shard);
  // Damage does not pass, and only another publisher can publish the shard: somebody has to hear of
  // it. Anything else may, as when the tree was taken back since its size was read.
  if (status.code() == StatusCode::DataLoss) {
    quarantine_.doubt({.node = base_.options.self, .shard = head.shard, .size = head.size});
  }
  return false;
}

// As many as a round takes, in turn, so that none waits for ever behind busy ones of lower numbers.
std::vector<ShardId> HeadCollection::changed_shards() {
  std::vector<ShardId> shards;
  const std::uint32_t count = base_.heads.shard_count();
  std::uint32_t shard = base_.heads.next_changed(cursor_);
  bool wrapped = false;
  while (shards.size() < base_.options.round_heads_max) {
    if (shard >= count) {
      if (wrapped || cursor_ == 0) {
        break;
      }
      wrapped = true;
      shard = base_.heads.next_changed(0);
      continue;
    }
    if (wrapped && shard >= cursor_) {
      break;
    }
    if (!is_held(ShardId{shard}) && !quarantine_.suspects(ShardId{shard})) {
      shards.push_back(ShardId{shard});
    }
    shard = base_.heads.next_changed(shard + 1);
  }
  cursor_ = shard >= count ? 0 : shard;
  return shards;
}

// Whether the shard is left alone for now. What it waited for counts for the round that has it.
bool HeadCollection::is_held(ShardId shard) {
  const auto held = held_.find(shard);
  if (held == held_.end()) {
    return false;
  }
  if (base_.now_ms < held->second.until_ms) {
    return true;
  }
  const std::uint64_t since_ms = held->second.news_ms;
  base_.news_ms = base_.news_ms == 0 || since_ms == 0 ? std::max(base_.news_ms, since_ms)
                                                      : std::min(base_.news_ms, since_ms);
  held_.erase(held);
  return false;
}

}  // namespace gcoord::server
