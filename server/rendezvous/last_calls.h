// Timers of the last calls of rendezvous, by this node's clock.
//
// Every node keeps the time of all calls that its state says are running, from the moment at which
// it learned of each; the leader of a shard then proposes their ends. Whether a call ends is for
// the log to decide: its end names it, and does nothing when it runs no more. A leader's clock that
// is wrong makes a call shorter or longer, and nothing else. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "membership/rendezvous/table.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace gcoord::server {

class LastCalls {
 public:
  struct Spot {
    ShardId shard;
    NameHash name;
  };

  struct Call {
    Spot at;
    std::uint64_t number = 0;
    Tick due;
  };

  explicit LastCalls(std::uint64_t tick_ms) : tick_ms_(tick_ms) {}

  // What the state says of this name now; nullptr: nothing.
  void update(const Spot& at, const membership::Rendezvous* rendezvous, Tick now);

  // The shard's state came from elsewhere.
  void reset(ShardId shard, const membership::RendezvousTable& table, Tick now);

  // The calls that are due. They are due again a second later, if they run still.
  std::vector<Call> take_due(Tick now);

  // The end of this call did not get into the log: it is due at that tick.
  void retry(ShardId shard, std::uint64_t number, Tick at);

  Tick next_deadline() const { return next_deadline_; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

  std::uint64_t tick_ms_;
  std::map<Key, Call> calls_;
  Tick next_deadline_ = kTickNever;
};

}  // namespace gcoord::server
