// Histories as a node of a PublicationWorld shows them: whole, damaged, or behind.
#pragma once

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/shard_head.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(const std::string& text) {
  Bytes bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char each) { return std::byte(each); });
  return bytes;
}

// PublicationPort::heads of such trees, which lack so many of their newest entries.
inline std::vector<ledger::ShardHead> heads_in(
    const std::vector<std::shared_ptr<ledger::MemoryTree>>& trees,
    std::span<const ShardId> shards,
    std::uint64_t behind = 0) {
  std::vector<ledger::ShardHead> heads;
  for (const ShardId shard : shards) {
    const std::uint64_t all = trees[shard.value]->size();
    const std::uint64_t size = all - std::min(all, behind);
    heads.push_back({shard, size, ledger::root_at(*trees[shard.value], size).value()});
  }
  return heads;
}

// A history of which only the length is left.
class DamagedTree final : public ledger::TreeReader {
 public:
  explicit DamagedTree(std::uint64_t size) : size_(size) {}

  std::uint64_t size() const override { return size_; }

  std::uint64_t first() const override { return 0; }

  Result<std::vector<ledger::MerkleHash>> hashes(std::uint32_t,
                                                 std::uint64_t,
                                                 std::size_t) const override {
    return rot();
  }

  Result<std::vector<Bytes>> entries(std::uint64_t, std::size_t) const override { return rot(); }

 private:
  static Status rot() { return Status{StatusCode::DataLoss, "rot", ledger::kHistoryRot}; }

  std::uint64_t size_;
};

// A history that lacks the newest entries of another.
class BehindTree final : public ledger::TreeReader {
 public:
  BehindTree(std::shared_ptr<const ledger::TreeReader> whole, std::uint64_t behind)
      : whole_(std::move(whole)), size_(whole_->size() - std::min(whole_->size(), behind)) {}

  std::uint64_t size() const override { return size_; }

  std::uint64_t first() const override { return whole_->first(); }

  Result<std::vector<ledger::MerkleHash>> hashes(std::uint32_t level,
                                                 std::uint64_t index,
                                                 std::size_t count) const override {
    return whole_->hashes(level, index, count);
  }

  Result<std::vector<Bytes>> entries(std::uint64_t index, std::size_t count) const override {
    return whole_->entries(index, count);
  }

 private:
  std::shared_ptr<const ledger::TreeReader> whole_;
  std::uint64_t size_;
};

}  // namespace gcoord::server
