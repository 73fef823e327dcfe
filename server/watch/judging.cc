#include "server/watch/judging.h"

namespace gcoord::server {

const WatchVerdict& judged(Watch& watch, WatchJudge& judge) {
  const std::uint64_t epoch = judge.epoch();
  if (watch.judged_epoch != epoch) {
    watch.judged_epoch = epoch;
    if (!watch.verdict.allowed) {
      return watch.verdict;  // It is about to end, for what was missing then.
    }
    watch.verdict = judge.judge(watch.connection, watch.target->filter);
  }
  return watch.verdict;
}

Watch* WatchJudging::next_refused(const WatchRegister& watches,
                                  WatchJudge& judge,
                                  std::size_t& looks) {
  if (epoch_ != judge.epoch()) {
    epoch_ = judge.epoch();
    place_ = {};
    looking_ = true;
  }
  while (looking_ && looks > 0) {
    --looks;
    Watch* const watch = watches.behind(place_);
    if (watch == nullptr) {
      looking_ = false;
      return nullptr;
    }
    place_ = WatchRegister::place_of(*watch);
    if (!judged(*watch, judge).allowed) {
      return watch;
    }
  }
  return nullptr;
}

}  // namespace gcoord::server
