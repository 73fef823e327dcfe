#include "server/budget/pass_budget.h"

#include <algorithm>

namespace gcoord::server {

namespace {

constexpr std::array<const char*, kWorkClasses> kNames = {
    "session_ends", "wait_ends", "watch_messages", "lost_connections"};

constexpr auto kCreditMax = static_cast<std::int64_t>(kPassUnits);
constexpr auto kQuantum = static_cast<std::int64_t>(kQuantumUnits);

}  // namespace

PassBudget::PassBudget(MetricsRegistry& metrics) {
  for (std::size_t k = 0; k < kWorkClasses; ++k) {
    shares_[k].waits_shown = &metrics.gauge({"gcoord_server_work_waiting",
                                             "Whether work of a storm waits for the next pass.",
                                             "work",
                                             kNames[k]});
    shares_[k].put_offs = &metrics.counter({"gcoord_server_work_put_off_total",
                                            "Passes that put work of a storm off to the next one.",
                                            "work",
                                            kNames[k]});
  }
}

void PassBudget::begin_pass() {
  for (Share& share : shares_) {
    share.credit = !share.waits ? std::min<std::int64_t>(share.credit, 0) + kQuantum : share.credit;
  }
  if (!behind()) {
    return;
  }
  for (std::size_t dealt = 0; dealt < kPassUnits; turn_ = (turn_ + 1) % kWorkClasses) {
    Share& share = shares_[turn_];
    if (share.waits) {
      share.credit = std::min(share.credit + kQuantum, kCreditMax);
      dealt += kQuantumUnits;
    }
  }
}

void PassBudget::put_off(WorkClass work, bool waits) {
  Share& share = of(work);
  share.put_offs->add(waits ? 1 : 0);
  if (share.waits != waits) {
    share.waits = waits;
    share.waits_shown->set(waits ? 1 : 0);
  }
}

bool PassBudget::behind() const {
  return std::ranges::any_of(shares_, &Share::waits);
}

}  // namespace gcoord::server
