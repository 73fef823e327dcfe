#include "ledger/publication/head_audit.h"

#include "ledger/heads/head_review.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gcoord::server {
namespace {

// Heads compared in one call: tens of milliseconds of reading on a busy node, in which no page of
// the others is answered. A node that answers late is never among those that agree, has to compare
// all that it was not asked about in time, and answers later still.
constexpr std::size_t kComparedAtOnce = kLeavesAtOnce;
// Runs of leaves that are agreed on, with others between them.
constexpr std::size_t kAgreedMax = 4096;

}  // namespace

void HeadAudit::start() {
  const ledger::TreeReader& log = base_.log();
  const std::uint64_t known = std::min(base_.options.signed_size, log.size());
  compared_ = std::max(log.first(), known > kComparedAgain ? known - kComparedAgain : 0);
}

// Leaves that this node's own trees had before they were ordered. They count as compared even while
// something before them is not: to read the trees of a busy cluster's leaves takes longer than to
// order the next ones, and a node that is behind once would stay behind.
void HeadAudit::note_agreed(std::uint64_t begin, std::uint64_t end) {
  const auto last = agreed_.empty() ? agreed_.end() : std::prev(agreed_.end());
  if (last != agreed_.end() && last->second == begin) {
    last->second = end;
  } else if (agreed_.size() < kAgreedMax) {
    agreed_.emplace(begin, end);
  }
  skip_agreed();
}

// Goes over what is agreed from here on; where the next of it begins.
std::uint64_t HeadAudit::skip_agreed() {
  while (!agreed_.empty() && agreed_.begin()->first <= compared_) {
    compared_ = std::max(compared_, agreed_.begin()->second);
    agreed_.erase(agreed_.begin());
  }
  return agreed_.empty() ? ~std::uint64_t{0} : agreed_.begin()->first;
}

// In the order of the leaves: a leaf that this node has not reached is waited for.
bool HeadAudit::advance(std::uint64_t trusted) {
  std::size_t done = 0;
  while (compared_ < trusted && done < kComparedAtOnce && !base_.failed) {
    const std::uint64_t stop = std::min(trusted, skip_agreed());
    if (compared_ >= stop) {
      break;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kLeavesAtOnce, stop - compared_));
    const auto entries = base_.log().entries(compared_, count);
    if (!entries.ok()) {
      base_.fail(entries.status());
      return false;
    }
    for (const auto& entry : entries.value()) {
      const auto head = ledger::decode_head(entry);
      if (!head.ok()) {
        base_.fail(head.status());
        return false;
      }
      if (!compare(head.value())) {
        return false;
      }
      ++compared_;
      ++done;
    }
  }
  return done >= kComparedAtOnce;
}

// False: this node's tree is not that large yet.
bool HeadAudit::compare(const ledger::ShardHead& head) {
  if (quarantine_.suspects(head.shard)) {
    return true;
  }
  const auto tree = quarantine_.tree(head.shard);
  const HeadComparison seen = compare_head(tree.get(), head);
  switch (seen.verdict) {
    case HeadVerdict::Behind:
      return false;
    case HeadVerdict::Equal:
      base_.counters.heads_compared.add();
      break;
    case HeadVerdict::Unknown:
      base_.counters.heads_unknown.add();
      if (seen.damaged) {
        quarantine_.doubt({.node = base_.options.self, .shard = head.shard, .size = head.size});
      }
      break;
    case HeadVerdict::Differs:
      base_.counters.heads_different.add();
      quarantine_.suspect(head);
      break;
  }
  return true;
}

void HeadAudit::let_go_below(std::uint64_t first) {
  if (compared_ < first) {
    base_.counters.heads_let_go.add(first - compared_);
    compared_ = first;
    skip_agreed();
  }
}

void HeadAudit::begin_at(std::uint64_t first) {
  compared_ = first;
  agreed_.clear();
}

}  // namespace gcoord::server
