// Reply to a lock command: one per command, and events for the waits that it ended.
//
// A reply is a function of the shard's command sequence only, so every replica computes the same
// one; the leader sends it to the client. A wait that ends later than its acquire is told by an
// event, in log order, exactly once: to the new holder (Granted), to a waiter whose time ran out or
// that gave up, and to a waiter whose session ended. Plain structs; host and device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/name_hash.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::locks {

using sessions::RegistrationChange;
using sessions::SessionRow;

// Never renumber: the codes are stored in snapshots.
enum class LockCode : std::uint8_t {
  None = 0,
  // Answers to Acquire.
  Granted = 1,      // token is the new fencing token.
  AlreadyHeld = 2,  // This session holds the lock already; token is the one that it holds.
  Busy = 3,         // Only without wait: holder and token say who has it. No queue entry is left.
  Waiting = 4,      // Queued; an event follows.
  // Answers to Release.
  Released = 5,
  NotHolder = 6,   // Another session holds the lock: holder and token say which.
  StaleToken = 7,  // This session holds the lock under another token, which token names.
  NotHeld = 8,     // Nobody holds the lock.
  // How a wait ended, as event and as the stored reply of its acquire; answers to CancelWait.
  WaitTimedOut = 9,
  WaitCancelled = 10,
  NotWaiting = 11,  // CancelWait names a request that this shard does not remember.
  // Sessions.
  SessionUnknown = 12,  // Not registered in this shard, and the command does not register it.
  SessionExpired = 13,  // Its end was decided; nothing is granted to it or accepted from it.
  SessionClosed = 14,
  SessionRegistered = 15,
  SerialStale = 16,  // ExpireSession names an older registration of this session: no change.
  // Exactly-once window of (session, sequence).
  SequenceStale = 17,      // The client said that it knows this reply (acked_below is above it).
  SequenceForgotten = 18,  // Too old to tell whether it ran; it is not run (again).
  SequenceAhead = 19,      // More than kSequenceAheadMax above acked_below.
  SequenceReused = 20,     // The same sequence came before with other arguments.
  WindowFull = 21,         // The session waits for kSessionRequestsMax locks of this shard.
  // Log entries that say nothing to this machine.
  Noop = 22,
  UnknownCommand = 23,  // Malformed, or of a later version: counted, no change.
  // Answers to acquires and releases of locks that are held several times (lock_hold.h).
  HeldAgain = 24,     // To Acquire: the holder has one hold more; token is the one that it has.
  HoldReturned = 25,  // To Release: the holder has one hold less, and still holds the lock.
  HoldLimit = 26,     // To Acquire: the holder has as many holds as it allows itself; no change.
  // Answers to acquires of locks that are held together (lock_share.h).
  Downgraded = 27,  // The session held it alone and is one of several now, under the same token.
  HoldConflict =
      28,  // The session has a share and asks for the lock alone, or otherwise; no change.
  LimitDiffers = 29,  // Those who hold it share under another limit of permits; no change.
  // Holds that were broken by force (lock_break.h), and locks whose holder failed (lock_delay.h).
  HoldBroken = 40,   // To Release: the hold under this token was broken.
  LockDelayed = 41,  // To Acquire without wait: nobody has it until its delay is over.
  Broken = 42,       // To BreakLock: holder and token say which hold ended, of several the oldest.
  DelayEnded = 43,   // To EndDelay.
  DelayOver = 44,    // To EndDelay: the lock does not stay for a delay under this token; no change.
  // How a wait ended, as event and as the stored reply of its acquire; answers to BreakWait.
  Deadlock = 60,  // It was one of several that would have waited for each other for ever.
  // Answers to Proclaim and Transfer (lock_office.h).
  Proclaimed = 50,    // The note is the holder's now; token is the one that it has.
  Transferred = 51,   // token is the new one, and holder the session that holds the lock by it.
  TargetAbsent = 52,  // The session does not wait to hold the lock alone; no change.
  // Names that were moved to another shard (lock_move.h).
  Moved = 70,          // To whatever concerns the name, and as the end of a wait: token says where.
  MovedOut = 71,       // To MoveOut: it is on its way; token is the number of the move.
  MovedIn = 72,        // To MoveIn.
  MoveSealed = 73,     // To MoveDone.
  MoveRefused = 74,    // To these: what stands here does not go with it; no change.
  MoveNotPlain = 75,   // To MoveOut: it is held by more than a plain hold, or by one who ended.
  MoveCrowded = 76,    // To MoveOut: more wait than one command moves.
  SessionsEnded = 80,  // To ExpireSessions, whatever it found of each.
  // To GroupRequest and GroupWithdraw: token and holder are the group machine's answer, which has
  // yet to decide unless it is a retry (locks/commands/group_command.h).
  GroupTaken = 90,
};

struct LockReply {
  LockCode code = LockCode::None;
  // The session has more locks than one command may release: propose ExpireSession again.
  bool more = false;
  // A retry: the reply is the stored one and nothing changed.
  bool replayed = false;
  RegistrationChange change = RegistrationChange::None;
  SessionRow changed_row;
  FencingToken token;
  SessionId holder;
};

// The end of a wait. `sequence` is that of the acquire which waits for this answer.
struct LockEvent {
  LockCode code = LockCode::None;  // Granted, WaitTimedOut, WaitCancelled or SessionExpired.
  ShardId shard;
  SessionId session;
  RequestSequence sequence;
  NameHash name;
  FencingToken token;  // Only when granted.
};

// One ended session gives at most 64 plain locks to waiters and ends at most 64 waits of its own.
inline constexpr std::uint32_t kPlainEventsPerCommandMax = 128;

// Each of those waits may have kept kHoldersMax (lock_hold.h) from sharing a lock; locks that are
// held together pass on as far as there is room.
inline constexpr std::uint32_t kEndEventsMax = kPlainEventsPerCommandMax + 64 * 64;

// A list of ends (lock_ends.h) goes on while there is room for one more of them.
inline constexpr std::uint32_t kLockEventsPerCommandMax = 2 * kEndEventsMax;

// Where apply() writes events: a fixed array of the caller with room for one more command. Without
// an array events are only counted.
struct LockEvents {
  LockEvent* events = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t count = 0;
  std::uint32_t part_first = 0;  // Of a list of ends: events before the end that is applied now.

  // Events of what is applied now.
  GCOORD_HD std::uint32_t part_count() const { return count - part_first; }

  GCOORD_HD bool has_room(std::uint32_t wanted) const {
    return events == nullptr || capacity - count >= wanted;
  }

  GCOORD_HD void push(const LockEvent& event) {
    if (events == nullptr) {
      ++count;
      return;
    }
    GCOORD_ASSERT(count < capacity);
    events[count] = event;
    ++count;
  }
};

}  // namespace gcoord::locks
