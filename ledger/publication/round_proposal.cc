#include "ledger/publication/round_proposal.h"

#include "ledger/heads/entry.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/shard_head.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gcoord::server {
namespace {

// A proposal of which nothing was heard is made again: long beside any election, short beside an
// operator's patience. Twice the same round does no harm, the log takes one.
constexpr std::uint64_t kProposeAgainMs = 2000;
// A leader that has too much to decide is left alone for so long.
constexpr std::uint64_t kProposeLaterMs = 50;

}  // namespace

void RoundProposal::clear() {
  roots_.clear();
  ordered_ = 0;
  proposed_ = 0;
}

Status RoundProposal::plan(const PublicationRound& round) {
  entry_heads_ = std::min(base_.options.entry_heads_max, 2 * entry_heads_);
  shrinks_ = false;
  return cut(round);
}

// The roots between the entries that the round is cut into: which tell its entries from others.
Status RoundProposal::cut(const PublicationRound& round) {
  const std::vector<ledger::ShardHead>& heads = round.heads();
  const std::size_t most = entry_heads_;
  roots_.clear();
  GCOORD_TRY(auto frontier, ledger::frontier_at(base_.log(), round.options().old_size));
  roots_.push_back(ledger::root_of(frontier));
  for (std::size_t k = 0; k < heads.size(); ++k) {
    ledger::append_leaf(frontier, ledger::hash_leaf(ledger::encode_head(heads[k])));
    if ((k + 1) % most == 0 || k + 1 == heads.size()) {
      roots_.push_back(ledger::root_of(frontier));
    }
  }
  return Status{};
}

// Into a whole number of each old entry: what is ordered of the round, now or later, is of the new
// ones, too.
Status RoundProposal::shrink(const PublicationRound& round) {
  const std::size_t parts = entry_heads_ % 2 == 0 ? 2 : entry_heads_;
  entry_heads_ /= parts;
  ordered_ *= parts;
  proposed_ = ordered_;
  shrinks_ = false;
  return cut(round);
}

// Whether what is ordered is a part of this round, and something of it is left.
bool RoundProposal::follow(const PublicationRound& round) {
  const std::uint64_t base = round.options().old_size;
  const std::size_t most = entry_heads_;
  if (roots_.empty()) {
    return base_.state.size() == base;
  }
  const std::uint64_t heads = base_.state.size() - std::min(base_.state.size(), base);
  const std::uint64_t done = (heads + most - 1) / most;
  const bool ours = base_.state.size() >= base && done + 1 < roots_.size() && heads % most == 0 &&
                    base_.state.root() == roots_[done];
  if (ours && done != ordered_) {
    ordered_ = done;
    proposed_ = std::max(proposed_, ordered_);
    proposed_ms_ = base_.now_ms;
  }
  return ours;
}

Status RoundProposal::propose(const PublicationRound& round) {
  const bool waits = proposed_ > ordered_;
  if (waits && base_.now_ms >= proposed_ms_ + kProposeAgainMs) {
    base_.counters.proposals_repeated.add(proposed_ - ordered_);
    proposed_ = ordered_;
  }
  if (base_.now_ms < propose_ms_) {
    return Status{};
  }
  if (shrinks_) {
    GCOORD_TRY_STATUS(shrink(round));
  }
  const std::vector<ledger::ShardHead>& heads = round.heads();
  const std::size_t most = entry_heads_;
  const std::size_t end = std::min(roots_.size() - 1, ordered_ + base_.options.entries_under_way);
  for (; proposed_ < end; ++proposed_) {
    const std::size_t first = proposed_ * most;
    const std::size_t last = std::min(first + most, heads.size());
    RoundEntry entry{.round = base_.state.round() + 1 + (proposed_ - ordered_),
                     .old_size = round.options().old_size + first,
                     .root = roots_[proposed_ + 1],
                     .heads = {}};
    entry.heads.assign(heads.begin() + static_cast<std::ptrdiff_t>(first),
                       heads.begin() + static_cast<std::ptrdiff_t>(last));
    proposed_ms_ = base_.now_ms;
    base_.counters.rounds.add();
    base_.port.propose(encode(PublicationEntry{std::move(entry)}));
  }
  return Status{};
}

bool RoundProposal::ordered() const {
  return !roots_.empty() && base_.state.root() == roots_.back();
}

void RoundProposal::on_lost() {
  base_.counters.proposals_lost.add();
  shrinks_ = base_.options.shrinks_lost_entries && planned() && entry_heads_ > 1;
  proposed_ = ordered_;
  propose_ms_ = base_.now_ms + kProposeLaterMs;
}

}  // namespace gcoord::server
