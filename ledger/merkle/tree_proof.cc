#include "ledger/merkle/tree_proof.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <bit>
#include <string>

namespace gcoord::ledger {
namespace {

// Leaves [begin, end) of the log.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};

Status beyond(const TreeReader& reader, std::uint64_t size) {
  return Status{
      StatusCode::InvalidArgument,
      "the log has " + std::to_string(reader.size()) + " entries, not " + std::to_string(size),
      kLedgerBeyond};
}

Result<MerkleHash> perfect_root(const TreeReader& reader,
                                std::uint32_t level,
                                std::uint64_t index) {
  GCOORD_TRY(const std::vector<MerkleHash> hashes, reader.hashes(level, index, 1));
  GCOORD_ASSERT(hashes.size() == 1);
  return hashes.front();
}

// MTH(D[begin:end]) of RFC 6962 section 2.1. Like every subtree of it, the span begins at a
// multiple of a power of two that is at least its size, so its bits say which perfect subtrees it
// is made of; they are joined from the smallest, the last, to the largest.
Result<MerkleHash> span_root(const TreeReader& reader, Span span) {
  GCOORD_ASSERT(span.begin < span.end);
  std::uint64_t end = span.end;
  MerkleHash root{};
  while (end != span.begin) {
    const auto level = static_cast<std::uint32_t>(std::countr_zero(end - span.begin));
    const std::uint64_t begin = end - (std::uint64_t{1} << level);
    GCOORD_TRY(const MerkleHash hash, perfect_root(reader, level, begin >> level));
    root = end == span.end ? hash : hash_node(hash, root);
    end = begin;
  }
  return root;
}

// Where the tree of a span divides: the largest power of two below its size.
std::uint64_t middle(Span span) {
  GCOORD_ASSERT(span.size() > 1);
  return span.begin + std::bit_floor(span.size() - 1);
}

}  // namespace

Result<MerkleHash> root_at(const TreeReader& reader, std::uint64_t size) {
  if (size > reader.size()) {
    return beyond(reader, size);
  }
  return size == 0 ? Result<MerkleHash>{empty_root()} : span_root(reader, {0, size});
}

Result<std::vector<MerkleHash>> inclusion_proof(const TreeReader& reader,
                                                std::uint64_t index,
                                                std::uint64_t size) {
  if (size > reader.size()) {
    return beyond(reader, size);
  }
  if (index >= size) {
    return Status{
        StatusCode::InvalidArgument,
        "a tree of " + std::to_string(size) + " leaves has no leaf " + std::to_string(index),
        kLedgerBeyond};
  }
  std::vector<MerkleHash> proof;
  Span span{0, size};
  while (span.size() > 1) {
    const std::uint64_t half = middle(span);
    const Span left{span.begin, half};
    const Span right{half, span.end};
    const bool in_left = index < half;
    GCOORD_TRY(const MerkleHash sibling, span_root(reader, in_left ? right : left));
    proof.push_back(sibling);
    span = in_left ? left : right;
  }
  std::reverse(proof.begin(), proof.end());
  return proof;
}

Result<std::vector<MerkleHash>> consistency_proof(const TreeReader& reader,
                                                  std::uint64_t old_size,
                                                  std::uint64_t size) {
  if (size > reader.size() || old_size > size) {
    return beyond(reader, std::max(size, old_size));
  }
  std::vector<MerkleHash> proof;
  if (old_size == 0 || old_size == size) {
    return proof;
  }
  // SUBPROOF of section 2.1.2: down to the subtree in which the old tree ends.
  Span span{0, size};
  while (span.end != old_size) {
    const std::uint64_t half = middle(span);
    const Span left{span.begin, half};
    const Span right{half, span.end};
    const bool in_left = old_size <= half;
    GCOORD_TRY(const MerkleHash sibling, span_root(reader, in_left ? right : left));
    proof.push_back(sibling);
    span = in_left ? left : right;
  }
  // The old root itself is known to who asks.
  if (span.begin != 0) {
    GCOORD_TRY(const MerkleHash last, span_root(reader, span));
    proof.push_back(last);
  }
  std::reverse(proof.begin(), proof.end());
  return proof;
}

}  // namespace gcoord::ledger
