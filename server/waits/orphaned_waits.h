// Places in queues that came with moved locks, and that nobody asks after (locks/state/import.h).
//
// A client that waits for a lock asks again where the lock has moved to, as soon as it hears of it.
// One that gave up meanwhile, or is gone while another one keeps its session alive, never does: its
// place would be granted the lock for nobody, until the session ends. So the leader of the shard
// gives each session the time that it may be silent for, counted from when the lock came or this
// node began to lead, and then has the place ended by a command. It ends nothing that was asked
// after meanwhile: that is decided in the log, not here.
//
// Places are found in the shard's state, so nothing here need outlive a leader. At most
// kLapsesPerTickMax commands a tick. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace gcoord::server {

inline constexpr std::size_t kLapsesPerTickMax = 256;

// The shortest time a session gets: longer than a client's back-off between two tries.
inline constexpr std::uint32_t kClaimMsMin = 5000;

// What was proposed and not decided by then is looked at again.
inline constexpr std::uint32_t kLapseAgainMs = 1000;

class OrphanedWaits {
 public:
  struct Environment {
    std::function<bool(ShardId)> leads;
    std::function<void(ShardId, const locks::LockCommand&)> propose;
  };

  OrphanedWaits(std::uint32_t tick_ms, const locks::LockCpu& locks, Environment doors);

  // The lock of the name came to a shard that is led here.
  void on_arrived(ShardId shard, NameHash name, Tick now);

  // This node leads the shard now, or a lock came there that a leader of before proposed.
  void on_led(ShardId shard, Tick now);

  void on_tick(Tick now);

  // kTickNever while there are none.
  Tick next_deadline() const { return due_.empty() ? kTickNever : due_.begin()->first; }

  std::size_t count() const { return due_.size(); }

 private:
  struct Place {
    ShardId shard;
    locks::OrphanedWait place;
  };

  std::uint64_t ticks(std::uint32_t ms) const { return ms / tick_ms_ + 1; }

  void add(ShardId shard, const std::vector<locks::OrphanedWait>& places, Tick now);

  std::uint32_t tick_ms_;
  const locks::LockCpu& locks_;
  Environment environment_;
  std::multimap<Tick, Place> due_;
};

}  // namespace gcoord::server
