// Application of a MoveIn where its text is not the caller's: a device reads it into memory of its
// group (server/resident/node/lock_turn_service.h).
//
// The same as apply() of such a command, to the bit; apart, since a lock seldom moves. Contract: as
// apply.h. Host and device.
#pragma once

#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/apply.h"
#include "locks/state/keys.h"
#include "locks/state/move.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// Applies a MoveIn, or what was read as Unknown in its place.
template <typename Tables>
GCOORD_HD_APART LockReply apply_brought(const Tables& tables,
                                        ShardId shard,
                                        LogIndex index,
                                        const LockCommand& command,
                                        LockEvents& events) {
  GCOORD_ASSERT(events.has_room(kPlainEventsPerCommandMax));
  const LockKeys keys = make_keys(tables, shard, index, command);
  const ApplyPoint at{tables, shard, index, keys, events};
  LockReply reply;
  reply.code = LockCode::UnknownCommand;
  if (command.kind == LockCommandKind::MoveIn) {
    apply_move_in(at, command, reply);
  }
  extend_chain(at, reply);
  return reply;
}

}  // namespace gcoord::locks
