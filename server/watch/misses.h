// Watches that missed something: a snapshot replaced the state of a shard that they cover.
//
// A snapshot tells nothing of what happened in between, so such a watch ends. There may be a
// million of them, so they end a slice per pass: next() walks the register in rounds, and a
// snapshot is forgotten after one whole round. Until its turn has come a watch sends nothing from
// after the snapshot: whoever is about to send to a watch asks of(), and match() stops the live
// watches of a target once (must_stop()). One thread.
#pragma once

#include "server/watch/target.h"
#include "server/watch/watch.h"
#include "server/watch/watch_register.h"

#include <cstdint>
#include <map>
#include <optional>

namespace gcoord::server {

class WatchMisses {
 public:
  struct Miss {
    ShardId shard;
    LogIndex first;  // From this revision on the shard's events can be had.
  };

  // A snapshot was installed for the shard; events from `first` on will be recorded.
  void add(ShardId shard, LogIndex first);

  // The number of the newest snapshot. A watch that begins in a shard keeps it (Watch::misses).
  std::uint64_t newest() const { return newest_; }

  // Whether some watch may have missed something and is not ended yet.
  bool any() const { return !missed_.empty(); }

  // A shard of which the watch missed something, or nothing.
  std::optional<Miss> of(const Watch& watch) const;

  // Whether the target's live watches must stop before an event of the shard, since some of them
  // may have missed what was before it. True once for each snapshot.
  bool must_stop(WatchTargetState& target, ShardId shard) const;

  // The next watch to be looked at; nullptr at the end of a round.
  Watch* next(const WatchRegister& watches);

 private:
  struct Snapshot {
    LogIndex first;
    std::uint64_t number = 0;
  };

  std::map<std::uint32_t, Snapshot> missed_;  // By shard.
  std::uint64_t newest_ = 0;
  std::uint64_t round_newest_ = 0;  // The newest snapshot when the round began.
  WatchRegister::Place place_;      // Of the watch that was looked at last.
};

}  // namespace gcoord::server
