#include "membership/detector/marks.h"

#include <algorithm>
#include <utility>

namespace gcoord::membership {

namespace {

constexpr std::uint64_t kForgivenMs = 600'000;

// Whether it lives, as far as this node or a relay hears.
bool lives(const NodeSight& sight) {
  return sight.verdict == Verdict::Alive ||
         (sight.verdict == Verdict::Doubted && sight.cause == Cause::Link);
}

bool is_back(const NodeSight& sight, std::uint64_t clear_ms, std::uint64_t now_ms) {
  return lives(sight) && now_ms - sight.since_ms >= clear_ms &&
         sight.silent_for_ms < Marks::kClearMs;
}

}  // namespace

// What differs from the view and was not proposed lately.
Marks::Due Marks::due(std::span<const Mark> view, const Detector& detector, std::uint64_t now_ms) {
  Due due;
  const auto own = std::ranges::find(view, detector.self(), &Mark::node);
  if (own != view.end() && own->suspect && now_ms >= proposals_[own->node].next_ms) {
    due.marks.push_back({own->node, false});
  }
  for (const NodeSight& sight : detector.sights(now_ms)) {
    const auto known = std::ranges::find(view, sight.node, &Mark::node);
    if (known == view.end()) {
      continue;
    }
    Proposal& proposal = proposals_[sight.node];
    const bool mark = !known->suspect && sight.verdict == Verdict::Suspect &&
                      detector.others_agree(sight.node, now_ms);
    const bool clear = known->suspect && is_back(sight, proposal.clear_ms, now_ms);
    proposal.under_way = proposal.under_way && mark;
    if ((mark || clear) && now_ms >= proposal.next_ms) {
      due.marks.push_back({sight.node, mark});
    } else if (!mark && !clear) {
      const std::uint64_t soon_ms = proposal.clear_ms - std::min(proposal.clear_ms, kGatherMs);
      due.more = due.more || (known->suspect ? is_back(sight, soon_ms, now_ms) : !lives(sight));
    }
  }
  std::ranges::sort(due.marks, {}, &Mark::node);
  return due;
}

// Whether they have waited for others for long enough.
bool Marks::has_gathered(const Due& due, std::uint64_t now_ms) {
  if (gathered_.marks.empty()) {
    gathered_.since_ms = now_ms;
  }
  const bool grown =
      !std::ranges::includes(gathered_.marks, due.marks, {}, &Mark::node, &Mark::node);
  gathered_.newest_ms = grown ? now_ms : gathered_.newest_ms;
  gathered_.marks = due.marks;
  const std::uint64_t last_ms = gathered_.since_ms + kGatherMs;
  const std::uint64_t quiet_ms = gathered_.newest_ms + kQuietMs;
  gathered_.next_ms = due.more ? last_ms : std::min(last_ms, quiet_ms);
  return now_ms >= gathered_.next_ms;
}

void Marks::note_proposed(const Mark& mark, std::uint64_t now_ms) {
  Proposal& proposal = proposals_[mark.node];
  proposal.next_ms = now_ms + kRepeatMs;
  if (!mark.suspect || proposal.under_way) {
    return;
  }
  proposal.under_way = true;
  const bool often = proposal.marked_ms != 0 && now_ms - proposal.marked_ms < kForgivenMs;
  proposal.clear_ms = often ? std::min(proposal.clear_ms * 2, kClearMsMax) : kClearMs;
  proposal.marked_ms = now_ms;
}

std::vector<Mark> Marks::decide(std::span<const Mark> view,
                                const Detector& detector,
                                std::uint64_t now_ms) {
  Due found = due(view, detector, now_ms);
  if (found.marks.empty()) {
    gathered_ = {};
    return {};
  }
  if (!has_gathered(found, now_ms)) {
    return {};
  }
  gathered_ = {};
  for (const Mark& mark : found.marks) {
    note_proposed(mark, now_ms);
  }
  return std::move(found.marks);
}

}  // namespace gcoord::membership
