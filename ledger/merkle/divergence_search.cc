#include "ledger/merkle/divergence_search.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <bit>

namespace gcoord::ledger {
namespace {

constexpr std::uint32_t kLevelsAtOnce = 8;  // As tiles have them; 2^8 hashes are one answer.

}  // namespace

DivergenceSearch::DivergenceSearch(const TreeReader& own, std::uint64_t size)
    : own_(own), peaks_rest_(size) {
  GCOORD_ASSERT(size > 0);
  ask_for_peak();
}

// The perfect trees that the whole consists of, the first and largest one first.
void DivergenceSearch::ask_for_peak() {
  if (peaks_rest_ == 0) {
    ended_ = true;  // All agree: the other side has told of another history before.
    return;
  }
  const auto level = static_cast<std::uint32_t>(std::bit_width(peaks_rest_) - 1);
  const std::uint64_t entries = std::uint64_t{1} << level;
  question_ = {.level = level, .index = peaks_end_ >> level, .count = 1};
  peaks_end_ += entries;
  peaks_rest_ -= entries;
}

std::optional<SubtreeRange> DivergenceSearch::question() const {
  return ended_ ? std::nullopt : std::optional(question_);
}

Status DivergenceSearch::on_answer(std::span<const MerkleHash> hashes) {
  GCOORD_ASSERT(!ended_);
  if (hashes.size() != question_.count) {
    return Status{StatusCode::InvalidArgument, "these are not the requested hashes", kLedgerBeyond};
  }
  GCOORD_TRY(const auto own, own_.hashes(question_.level, question_.index, question_.count));
  const auto differs = std::ranges::mismatch(own, hashes).in1;
  if (differs == own.end()) {
    if (question_.count == 1) {
      ask_for_peak();
    } else {
      ended_ = true;  // The parents differed and the children do not: they lie.
    }
    return Status{};
  }
  const std::uint64_t index = question_.index + static_cast<std::uint64_t>(differs - own.begin());
  if (question_.level == 0) {
    found_ = index;
    ended_ = true;
    return Status{};
  }
  const std::uint32_t down = std::min(question_.level, kLevelsAtOnce);
  question_ = {.level = question_.level - down, .index = index << down, .count = 1u << down};
  return Status{};
}

}  // namespace gcoord::ledger
