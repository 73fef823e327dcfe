// Round over all watches after a change of rights: those that are not allowed any more are to end.
//
// There may be a million of them, so they are visited a slice per pass. Until its turn has come a
// watch is judged before it is sent anything (WatchOutlet); one that was found not allowed stays
// so, since it may have been sent nothing in between. One thread.
#pragma once

#include "server/watch/judge.h"
#include "server/watch/watch_register.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// The watch's verdict as of the judge's epoch.
const WatchVerdict& judged(Watch& watch, WatchJudge& judge);

class WatchJudging {
 public:
  // The next watch that is not allowed, after at most `looks` visits, which are counted down;
  // nullptr: none was found among them.
  Watch* next_refused(const WatchRegister& watches, WatchJudge& judge, std::size_t& looks);

  // Whether the round is not at its end.
  bool under_way(const WatchJudge& judge) const { return looking_ || epoch_ != judge.epoch(); }

 private:
  std::uint64_t epoch_ = 0;  // Of the round.
  bool looking_ = false;
  WatchRegister::Place place_;  // Of the watch that was visited last.
};

}  // namespace gcoord::server
