#include "client/elections/succession.h"

namespace gcoord::client {

std::uint64_t Succession::look(const std::vector<CandidateView>& line, TimePoint now) {
  if (rules_.hysteresis == kTimeNever) {
    return 0;
  }
  std::map<Wait, TimePoint> seen;
  const CandidateView* best = nullptr;
  for (const CandidateView& candidate : line) {
    if (candidate.priority <= rules_.priority) {
      continue;
    }
    const Wait wait{candidate.session_id, candidate.sequence};
    const auto before = seen_since_.find(wait);
    const TimePoint since = before == seen_since_.end() ? now : before->second;
    seen.emplace(wait, since);
    const bool steady = now - since >= rules_.hysteresis;
    if (steady && (best == nullptr || candidate.priority > best->priority)) {
      best = &candidate;
    }
  }
  seen_since_ = std::move(seen);
  const bool settled = now - rules_.led_since >= rules_.hysteresis;
  return best != nullptr && settled ? best->session_id : 0;
}

}  // namespace gcoord::client
