#include "ledger/merkle/memory_tree.h"

#include "ledger/base/error_details.h"

#include <mutex>
#include <string>

namespace gcoord::ledger {
namespace {

// Whether [index, index + count) lies within `size` things; nothing overflows.
bool within(std::uint64_t index, std::size_t count, std::size_t size) {
  return index <= size && count <= size - index;
}

Status beyond(std::uint64_t index, std::size_t count) {
  return Status{StatusCode::InvalidArgument,
                "the tree has no " + std::to_string(count) + " of these from " +
                    std::to_string(index) + " on",
                kLedgerBeyond};
}

}  // namespace

void MemoryTree::append(std::span<const std::byte> entry) {
  const std::unique_lock lock(mutex_);
  entries_.emplace_back(entry.begin(), entry.end());
  MerkleHash hash = hash_leaf(entry);
  for (std::size_t level = 0;; ++level) {
    if (levels_.size() == level) {
      levels_.emplace_back();
    }
    std::vector<MerkleHash>& hashes = levels_[level];
    hashes.push_back(hash);
    if (hashes.size() % 2 != 0) {
      return;
    }
    hash = hash_node(hashes[hashes.size() - 2], hashes.back());
  }
}

void MemoryTree::prune(std::uint64_t first) {
  const std::unique_lock lock(mutex_);
  if (first > entries_.size()) {
    return;
  }
  for (; first_ < first; ++first_) {
    entries_[first_] = {};
  }
}

std::uint64_t MemoryTree::size() const {
  const std::shared_lock lock(mutex_);
  return entries_.size();
}

std::uint64_t MemoryTree::first() const {
  const std::shared_lock lock(mutex_);
  return first_;
}

Result<std::vector<MerkleHash>> MemoryTree::hashes(std::uint32_t level,
                                                   std::uint64_t index,
                                                   std::size_t count) const {
  const std::shared_lock lock(mutex_);
  if (level >= levels_.size() || !within(index, count, levels_[level].size())) {
    return beyond(index, count);
  }
  const auto begin = levels_[level].begin() + static_cast<std::ptrdiff_t>(index);
  return std::vector<MerkleHash>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<std::vector<std::byte>>> MemoryTree::entries(std::uint64_t index,
                                                                std::size_t count) const {
  const std::shared_lock lock(mutex_);
  if (!within(index, count, entries_.size())) {
    return beyond(index, count);
  }
  if (index < first_) {
    return Status{StatusCode::OutOfRange,
                  "entries below " + std::to_string(first_) + " were pruned",
                  kLedgerPruned};
  }
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(index);
  return std::vector<std::vector<std::byte>>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

}  // namespace gcoord::ledger
