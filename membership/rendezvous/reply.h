// The answer of the rendezvous machine to one command.
//
// It is a function of the shard's commands alone, so every replica has the same one. Code and
// numbers are kept in the session's window of requests, which answers a retry. Plain values.
#pragma once

#include <cstdint>

namespace gcoord::membership {

// Never renumber: the codes are stored in snapshots.
enum class RendezvousCode : std::uint8_t {
  None = 0,
  Waits = 1,          // The session has come; the round is not complete.
  Completed = 2,      // It has come, and with it the round was complete; number is the round.
  BoundsDiffer = 3,   // Others wait for other bounds. No change.
  Full = 4,           // kRendezvousWaitersMax sessions wait. No change.
  Left = 5,           // It waits no more, and is out of the round that it was in.
  NotThere = 6,       // To a leave: it neither waited nor was in a round. No change.
  TimedOut = 7,       // Its arrival was taken back.
  NotWaiting = 8,     // To a withdrawal: it does not wait under this request. No change.
  LastCallEnded = 9,  // The round was completed; number is the round.
  CallStale = 10,     // To the end of a last call: that one is not running. No change.
  Malformed = 11,     // No command of this version. No change.
  ShardFull = 12,     // The shard has kRendezvousPerShardMax others. No change.
};

struct RendezvousReply {
  RendezvousCode code = RendezvousCode::None;
  std::uint64_t number = 0;  // See the codes.
};

}  // namespace gcoord::membership
