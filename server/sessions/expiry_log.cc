#include "server/sessions/expiry_log.h"

#include "common/assert.h"
#include "locks/commands/ends.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gcoord::server {

namespace {

std::size_t cost_of(std::size_t ends) {
  return kEndEntryCost + ends * kEndCost;
}

}  // namespace

ExpiryLog::ExpiryLog(locks::LockCpu& locks, MetricsRegistry& metrics, Environment doors)
    : locks_(locks), environment_(std::move(doors)) {
  ends_ = &metrics.counter(
      {"gcoord_server_session_expiries_total", "Expiries of sessions that were proposed.", "", ""});
  entries_ = &metrics.counter({"gcoord_server_session_expiry_entries_total",
                               "Log entries that were proposed with expiries of sessions.",
                               "",
                               ""});
}

// Lists are in the order of their sessions (locks/commands/ends.h).
void ExpiryLog::flush() {
  if (agreed_.empty()) {
    return;
  }
  std::ranges::sort(agreed_, {}, [](const sessions::ExpiryProposal& end) {
    return std::tuple{end.shard, end.session};
  });
  const std::uint32_t ends_max = environment_.ends_max();
  const std::vector<sessions::ExpiryProposal> agreed = std::exchange(agreed_, {});
  log_debug(LogComponent::Sessions,
            "ends {} sessions that ran out or were closed; the first is {} of shard {}",
            agreed.size(),
            agreed.front().session.value,
            agreed.front().shard.value);
  for (std::size_t at = 0; at < agreed.size();) {
    const std::span<const sessions::ExpiryProposal> left{agreed.data() + at, agreed.size() - at};
    const auto ends = left.first(list_length(left, ends_max));
    ++number_last_;
    cost_ += cost_of(ends.size());
    ends_->add(ends.size());
    entries_->add();
    under_way_.emplace(number_last_, std::vector(ends.begin(), ends.end()));
    environment_.propose(ends.front().shard, ends, number_last_);
    at += ends.size();
  }
}

std::size_t ExpiryLog::weight(const sessions::ExpiryProposal& end) const {
  const locks::SessionRecord session = locks_.session(end.row);
  return std::size_t{1} + session.hold_count + session.request_count;
}

std::size_t ExpiryLog::list_length(std::span<const sessions::ExpiryProposal> left,
                                   std::uint32_t ends_max) const {
  std::size_t length = 1;
  std::size_t weights = weight(left.front());
  while (length < std::min<std::size_t>(left.size(), ends_max)) {
    const sessions::ExpiryProposal& next = left[length];
    weights += weight(next);
    // A session that is there twice was registered again between: a list names it once.
    const bool joins = next.shard == left.front().shard &&
                       next.session != left[length - 1].session && weights <= kListedWeightMax;
    if (!joins) {
      break;
    }
    ++length;
  }
  return length;
}

std::vector<sessions::ExpiryProposal> ExpiryLog::take(std::uint64_t number) {
  const auto found = under_way_.find(number);
  GCOORD_ASSERT(found != under_way_.end());
  std::vector<sessions::ExpiryProposal> ends = std::move(found->second);
  under_way_.erase(found);
  GCOORD_ASSERT(cost_ >= cost_of(ends.size()));
  cost_ -= cost_of(ends.size());
  return ends;
}

}  // namespace gcoord::server
