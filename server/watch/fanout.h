// Fan-out of a target's events to all watches of it that are live, a slice per pass.
//
// A message is encoded once per target and kept until every live watch of the target was sent it.
// A sweep goes over those watches and sends each what it has not had, in order; what is told
// meanwhile gathers in one message for the next sweep. So a name with a million watches and many
// changes costs a message per watch and sweep, not per watch and change. Targets that owe take
// turns, kTurnMessages each. A watch knows the number of the newest message that it was sent
// (Watch::told), so one that comes, goes or is wanted at once disturbs no sweep.
//
// One whose connection takes no more bytes reads on for itself from the first message that it was
// not sent (WatchLineup::make_behind). One thread.
#pragma once

#include "protocol/watch_messages.h"
#include "server/watch/target.h"
#include "server/watch/watch.h"
#include "server/watch/watch_lineup.h"
#include "server/watch/watch_outlet.h"
#include "server/watch/watch_register.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class WatchFanout {
 public:
  // Messages of one target before another has its turn.
  static constexpr std::size_t kTurnMessages = 128;

  // What is owed to all targets together; beyond it room() is false.
  static constexpr std::size_t kOwedBytesMax = std::size_t{16} << 20;

  // All outlive it.
  WatchFanout(WatchOutlet& outlet, WatchLineup& lineup, const WatchRegister& watches)
      : outlet_(outlet), lineup_(lineup), register_(watches) {}

  // The target's live watches are to be told this, which begins at this cursor of the ring. False:
  // no message holds it.
  bool add(WatchTargetState& target, const protocol::WatchBlock& block, std::uint64_t cursor);

  // From this cursor on each of the target's live watches is to read for itself.
  void add_end(WatchTargetState& target, std::uint64_t cursor);

  // Sends so many messages, or a few more; returns how many, visits without one counted too.
  std::size_t send(std::size_t most);

  // Sends a live watch at once what is owed to it. False: it reads for itself now.
  bool settle(Watch& watch);

  // The watch becomes live: it has all that was told so far.
  static void join(Watch& watch) { watch.told = watch.target->newest(); }

  // The target has no watch any more.
  void forget(WatchTargetState& target);

  // Whether some target owes messages, and whether there is room for more.
  bool behind() const { return !owing_.empty(); }

  bool room() const { return bytes_ < kOwedBytesMax; }

 private:
  OwedMessage& begin(WatchTargetState& target, std::uint64_t cursor);
  std::size_t send_some(WatchTargetState& target, std::size_t most);
  std::size_t tell(Watch& watch, std::uint64_t last);
  void begin_sweep(WatchTargetState& target);
  void end_sweep(WatchTargetState& target);
  void leave(WatchTargetState& target);

  WatchOutlet& outlet_;
  WatchLineup& lineup_;
  const WatchRegister& register_;
  std::vector<WatchTargetState*> owing_;
  std::size_t turn_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace gcoord::server
