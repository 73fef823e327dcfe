// Search by hashes for the first entry in which two histories of one size differ.
//
// One side asks, the other answers with hashes of its perfect subtrees, eight levels at a time as
// tiles have them. So the first of 2^40 entries that differs is found with at most six questions of
// at most 256 hashes, whatever comes behind it. What the other side answers is not trusted: an
// answer that agrees with everything ends the search without a find. One thread.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>
#include <optional>
#include <span>

namespace gcoord::ledger {

// Subtrees [index, index + count) of a level, as for TreeReader::hashes.
struct SubtreeRange {
  std::uint32_t level = 0;
  std::uint64_t index = 0;
  std::uint32_t count = 0;

  friend bool operator==(const SubtreeRange& a, const SubtreeRange& b) = default;
};

class DivergenceSearch {
 public:
  // Two trees of `size` entries, at least 1, have different roots. `own` outlives the search.
  DivergenceSearch(const TreeReader& own, std::uint64_t size);

  // What to ask the other side for; nothing once the search has ended.
  std::optional<SubtreeRange> question() const;

  // The other side's hashes of question(). InvalidArgument (kLedgerBeyond) if they are not as many;
  // otherwise what reading our own history fails with.
  Status on_answer(std::span<const MerkleHash> hashes);

  bool ended() const { return ended_; }

  // The index of the first entry that differs, once it is known.
  std::optional<std::uint64_t> found() const { return found_; }

 private:
  void ask_for_peak();

  const TreeReader& own_;
  std::uint64_t peaks_end_ = 0;   // Entries of the peaks that were asked for.
  std::uint64_t peaks_rest_ = 0;  // Entries behind them.
  SubtreeRange question_;
  bool ended_ = false;
  std::optional<std::uint64_t> found_;
};

}  // namespace gcoord::ledger
