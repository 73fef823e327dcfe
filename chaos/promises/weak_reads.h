// Reads that need not be linearizable, judged by what each of them promises.
//
//   serializable  the index that it names and, if it says an age, everything that was acknowledged
//                 longer before it was asked
//   bounded       the same with the age that was asked for
//   monotonic     everything up to the position that was asked for
//
// And all of them: the answer is what the shard's log says up to the index that they name, which is
// found out at the end from a history (history_audit.h). An index is judged by what had been
// acknowledged when the read was asked; the node measures an age by its own clock, so it may be
// older by that clock's drift. Plain values; no thread rules.
#pragma once

#include "common/ids.h"
#include "protocol/lock_messages.h"
#include "protocol/read_messages.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct WeakRead {
  std::uint32_t process = 0;
  protocol::ReadConsistency consistency = protocol::ReadConsistency::Serializable;
  std::string key;
  ShardId shard;
  FencingToken token;
  std::uint32_t staleness_ms = 0;  // Asked for, of Bounded.
  LogIndex needed;                 // Asked for, of Monotonic.
  LogIndex index;                  // As answered, like all below.
  std::uint32_t age_ms = protocol::kAgeUnknown;
  protocol::CheckVerdict verdict = protocol::CheckVerdict::Free;
  std::uint64_t call_ns = 0;
};

class WeakReads {
 public:
  // How much older than it thinks an answer may be: parts per million, and a constant.
  struct Slack {
    std::uint64_t drift_ppm = 0;
    std::uint64_t grain_ns = 0;
  };

  explicit WeakReads(Slack slack) : slack_(slack) {}

  // A change of the shard at `index` was acknowledged. Moments rise from call to call.
  void note_write(ShardId shard, LogIndex index, std::uint64_t acknowledged_ns);

  // Empty, or what the answer breaks. Everything that was acknowledged before it has been noted.
  std::string take(const WeakRead& read);

  const std::vector<WeakRead>& reads() const { return reads_; }

 private:
  // The highest index that had been acknowledged.
  struct Mark {
    std::uint64_t at_ns = 0;
    LogIndex index;
  };

  LogIndex acknowledged_before(ShardId shard, std::uint64_t at_ns) const;
  LogIndex owed(const WeakRead& read) const;

  Slack slack_;
  std::map<std::uint32_t, std::vector<Mark>> marks_;  // By shard; both members rise.
  std::vector<WeakRead> reads_;
};

// "serializable" and the like.
const char* consistency_name(protocol::ReadConsistency consistency);

}  // namespace gcoord::chaos
