// Waits for locks that must be asked for anew: by shard, in the order in which they came.
//
// An acquire that waits is answered when it is granted, perhaps never, so its node's silence says
// nothing, and a client may have a hundred thousand of them. So they do not try again each for
// itself: a line rests, asks, sends a batch and asks again, and whatever its length it takes one
// from the retry budget for each rest (docs/adr/0059). A waiter in a queue is known by its request
// id; ids of operations that have ended are skipped by who takes them.
//
// Pure: the time is a parameter. One thread.
#pragma once

#include "client/records/session_lease.h"
#include "common/ids.h"
#include "gcoord/clock.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

namespace gcoord::client {

// Waits that are sent before the node is asked whether it has taken them. Half of what a shard's
// leader takes on undecided (consensus/step/inbox.h), so that acquires that are new to it, and not
// only those that stand in its queue already, find room.
inline constexpr std::size_t kLineBatch = 2048;

// So many go without a question to any node: its answers to them say as much.
inline constexpr std::size_t kLineShort = 64;

struct WaitLine {
  std::deque<std::uint64_t> ids;
  std::uint32_t attempt = 0;  // Rests in a row.
  TimePoint due{};            // When it goes on, unless it is asking.
  bool asking = false;        // A question is under way.
  bool refused = false;       // Somebody came back since the question was asked.
};

class WaitLines {
 public:
  // Puts a wait at the end of the shard's line. One that begins is due at once.
  WaitLine& join(ShardId shard, std::uint64_t id) {
    WaitLine& line = lines_[shard.value];
    line.ids.push_back(id);
    if (!line.asking) {
      next_due_ = std::min(next_due_, line.due);
    }
    return line;
  }

  // nullptr when nobody stands there.
  WaitLine* find(ShardId shard) {
    const auto found = lines_.find(shard.value);
    return found == lines_.end() ? nullptr : &found->second;
  }

  void erase(ShardId shard) { lines_.erase(shard.value); }

  // The line goes on at this moment, unless it is asking then.
  void set_due(WaitLine& line, TimePoint moment) {
    line.due = moment;
    next_due_ = std::min(next_due_, moment);
  }

  // No line goes on before; kTimeNever when all are asking, or there is none.
  TimePoint next_due() const { return next_due_; }

  // Calls visit(shard) for each line that is due; visit may begin and erase lines. A walk over all
  // of them, at most once for each moment at which one was due.
  template <typename Visit>
  void for_each_due(TimePoint now, const Visit& visit) {
    if (now < next_due_) {
      return;
    }
    next_due_ = kTimeNever;
    for (auto next = lines_.begin(); next != lines_.end();) {
      const ShardId shard{next->first};
      if (!next->second.asking && next->second.due <= now) {
        visit(shard);
      } else if (!next->second.asking) {
        next_due_ = std::min(next_due_, next->second.due);
      }
      next = lines_.upper_bound(shard.value);
    }
  }

 private:
  std::map<std::uint32_t, WaitLine> lines_;
  TimePoint next_due_ = kTimeNever;
};

}  // namespace gcoord::client
