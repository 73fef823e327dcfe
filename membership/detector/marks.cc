#include "membership/detector/marks.h"

#include <algorithm>

namespace gcoord::membership {

namespace {

constexpr std::uint64_t kForgivenMs = 600'000;

// Whether it lives, as far as this node or a relay hears.
bool is_back(const NodeSight& sight, std::uint64_t clear_ms, std::uint64_t now_ms) {
  const bool lives = sight.verdict == Verdict::Alive ||
                     (sight.verdict == Verdict::Doubted && sight.cause == Cause::Link);
  return lives && now_ms - sight.since_ms >= clear_ms && sight.silent_for_ms < Marks::kClearMs;
}

}  // namespace

std::vector<Mark> Marks::decide(std::span<const Mark> view,
                                const Detector& detector,
                                std::uint64_t now_ms) {
  std::vector<Mark> wanted;
  const auto own = std::ranges::find(view, detector.self(), &Mark::node);
  if (own != view.end() && own->suspect && now_ms >= proposals_[own->node].next_ms) {
    proposals_[own->node].next_ms = now_ms + kRepeatMs;
    wanted.push_back({own->node, false});
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
    if ((!mark && !clear) || now_ms < proposal.next_ms) {
      continue;
    }
    proposal.next_ms = now_ms + kRepeatMs;
    if (mark && !proposal.under_way) {
      proposal.under_way = true;
      const bool often = proposal.marked_ms != 0 && now_ms - proposal.marked_ms < kForgivenMs;
      proposal.clear_ms = often ? std::min(proposal.clear_ms * 2, kClearMsMax) : kClearMs;
      proposal.marked_ms = now_ms;
    }
    wanted.push_back({sight.node, mark});
  }
  return wanted;
}

}  // namespace gcoord::membership
