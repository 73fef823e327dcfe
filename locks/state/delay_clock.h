// Expiry clock of lock delays (lock_delay.h): volatile, never replicated.
//
// Every node notes for each lock in its delay when it applied the expiry that began it, leader or
// not. That is at or after the moment at which the log decided it, so no node's time is ever short;
// a follower applies at most a message later, and one that becomes leader has applied everything by
// then, so that a change of leaders prolongs a delay by one election at most. A node that restored
// a shard knows no beginning: its delays begin anew. The leader proposes EndDelay for what is due;
// the delay ends when that is applied.
//
// Ticks of the node's clock count time that passed, stalls and suspensions included, so a node that
// stood still ends nothing early. A delay is rounded up and one tick is added, as TTLs are. Host
// only; one thread.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace gcoord::locks {

// A lock in its delay. The token is that of the holder who failed.
struct DelayedLock {
  ShardId shard;
  NameHash name_hash;
  FencingToken token;
  std::uint32_t delay_ms = 0;
};

class DelayClock {
 public:
  explicit DelayClock(std::uint32_t tick_ms) : tick_ms_(tick_ms) {}

  // Its delay begins now (`led`: this node leads its shard). False when it was known.
  bool on_delayed(const DelayedLock& lock, Tick now, bool led);
  void on_ended(ShardId shard, FencingToken token);
  void drop(ShardId shard);

  void on_led(ShardId shard);
  void on_not_led(ShardId shard);

  // Writes up to out.size() of those that are due in led shards and marks them proposed; returns
  // how many.
  std::size_t due(Tick now, std::span<DelayedLock> out);
  // A proposal was not accepted by the log: due again at `again`.
  void on_refused(ShardId shard, FencingToken token, Tick again);

  // kTickNever when nothing is due in a led shard.
  Tick next_deadline() const;

  std::size_t size() const { return delays_.size(); }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // Shard and token.

  struct Delay {
    DelayedLock lock;
    Tick until;
    bool led = false;
    bool proposed = false;
  };

  std::uint32_t tick_ms_;
  std::map<Key, Delay> delays_;
  std::set<std::pair<std::uint64_t, Key>> due_;  // Of led shards, not proposed, by their ends.
};

}  // namespace gcoord::locks
