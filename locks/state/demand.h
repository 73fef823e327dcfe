// Upper bounds of the memory that a command takes, known before it is applied.
//
// Applying cannot fail, so whoever applies first makes sure of the rows: LockCpu before each
// command, a device before each batch, which it refuses as a whole when something is short. Pure
// functions; host and device.
#pragma once

#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/move_command.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "locks/state/names.h"

#include <cstdint>

namespace gcoord::locks {

struct LockDemand {
  std::uint32_t locks = 0;
  std::uint32_t sessions = 0;
  std::uint32_t requests = 0;
  std::uint32_t name_blocks = 0;
  // Each ends a wait, so never more than those that wait, and `waits`. Wide, since the ends of a
  // million sessions may make more than 32 bits can count.
  std::uint64_t events = 0;
  std::uint32_t waits = 0;

  GCOORD_HD LockDemand& operator+=(const LockDemand& other) {
    locks += other.locks;
    sessions += other.sessions;
    requests += other.requests;
    name_blocks += other.name_blocks;
    events += other.events;
    waits += other.waits;
    return *this;
  }
};

// The shard's keeper and a marked record; and what a lock leaves to be sent, or brings along.
GCOORD_HD inline LockDemand demand_of_move(const LockCommand& command) {
  LockDemand demand;
  demand.locks = 1;
  demand.sessions = 1;
  demand.name_blocks = 1 + name_block_count(command.name_bytes);
  if (command.kind == LockCommandKind::MoveOut) {
    demand.name_blocks += 1 + kMoveWaitersMax;
    demand.events = kMoveWaitersMax;
    return demand;
  }
  const std::uint32_t moved = moved_count(command);
  demand.sessions += moved;
  demand.requests = moved;
  demand.events = 1;
  demand.waits = moved;
  return demand;
}

GCOORD_HD inline LockDemand demand_of(const LockCommand& command) {
  LockDemand demand;
  switch (command.kind) {
    case LockCommandKind::Acquire:
      demand.locks = 1;
      demand.sessions = (command.flags & kAcquireRegister) != 0 ? 1 : 0;
      demand.requests = 1;
      demand.name_blocks = name_block_count(command.name_bytes);
      if ((command.flags & kAcquireHold) != 0) {
        demand.name_blocks += 1 + name_block_count(command.note_bytes);
        demand.locks += (command.hold_flags & kHoldShared) != 0 ? 1 : 0;
        // Who goes on as a reader lets in those behind it.
        demand.events = (command.hold_flags & kHoldDowngrade) != 0 ? 1 : 0;
      }
      demand.waits = (command.flags & kAcquireWait) != 0 ? 1 : 0;
      break;
    case LockCommandKind::Release:
      demand.requests = 1;
      demand.events = 1;
      break;
    case LockCommandKind::BreakWait:
    case LockCommandKind::CancelWait:
      demand.events = 1;
      break;
    case LockCommandKind::Proclaim:
      demand.requests = 1;
      demand.name_blocks = 1 + name_block_count(command.note_bytes);
      break;
    case LockCommandKind::Transfer:
      demand.requests = 1;
      demand.events = 1;
      break;
    case LockCommandKind::GroupRequest:
      demand.sessions = (command.flags & kAcquireRegister) != 0 ? 1 : 0;
      demand.requests = 1;
      break;
    case LockCommandKind::RegisterSession:
      demand.sessions = 1;
      break;
    case LockCommandKind::ExpireSession:
    case LockCommandKind::CloseSession:
      demand.events = kEndEventsMax;
      break;
    case LockCommandKind::ExpireSessions:
      demand.events = kLockEventsPerCommandMax;
      break;
    case LockCommandKind::BreakLock:
      // What stays of each hold, with a name of its own.
      demand.locks = (command.flags & kBreakAll) != 0 ? kHoldersMax : 1;
      demand.name_blocks = demand.locks * name_block_count(command.name_bytes);
      demand.events = 1;
      break;
    case LockCommandKind::MoveLapse:
      demand.events = 1 + kHoldersMax;  // Those behind it may share the lock.
      break;
    case LockCommandKind::EndDelay:
      demand.events = 1;
      break;
    case LockCommandKind::MoveOut:
    case LockCommandKind::MoveIn:
      demand = demand_of_move(command);
      break;
    case LockCommandKind::MoveDone:
    case LockCommandKind::GroupWithdraw:
    case LockCommandKind::Noop:
    case LockCommandKind::Unknown:
      break;
  }
  return demand;
}

}  // namespace gcoord::locks
