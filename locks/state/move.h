// Moving the lock of a name between shards while it is held and waited for (L19 of
// docs/reference/services.md).
//
// Three commands, in the logs of two shards. MoveOut takes the lock out of the tables where it is:
// whoever waits is told that it has moved, and what it was is kept, word for word, with the record
// that says where the name is now. From then on nobody is granted it there. MoveIn puts it into the
// tables of the other shard: the holder with its token, the waiters in their order, under sessions
// that it registers where they are not; and the shard's tokens go on above those of the shard that
// it comes from. MoveDone lets go of what was kept. Each happens once, whoever sends it how often:
// the moves of a name are numbered, and both shards remember the newest one they took part in.
//
// So at every index of either log the name has at most one holder, and what is between MoveOut and
// MoveIn is in the log of the one, immutable, for whoever goes on with it. Only plain holds and
// waits are moved. docs/adr/0046 argues the invariants. Contract: as lock_apply.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/move_command.h"
#include "locks/commands/reply.h"
#include "locks/state/acquire.h"
#include "locks/state/extra.h"
#include "locks/state/import.h"
#include "locks/state/queue.h"
#include "locks/state/residence.h"
#include "locks/state/session_locks.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// The first block of what a lock leaves to be sent; the waiters' sessions follow it.
struct MoveExport {
  MovedSession holder;  // None: 0.
  FencingToken token;
  std::uint64_t token_last = 0;
};

GCOORD_HD inline void put_word64(NameBlock& block, std::uint32_t place, std::uint64_t word) {
  block.words[place] = static_cast<std::uint32_t>(word);
  block.words[place + 1] = static_cast<std::uint32_t>(word >> 32);
}

GCOORD_HD inline std::uint64_t word64_of(const NameBlock& block, std::uint32_t place) {
  return block.words[place] | std::uint64_t{block.words[place + 1]} << 32;
}

GCOORD_HD inline MovedSession moved_of(const NameBlock& block) {
  return {SessionId{word64_of(block, 0)}, block.words[2]};
}

GCOORD_HD inline MoveExport load_export(const NameBlock& block) {
  return {moved_of(block), FencingToken{word64_of(block, 3)}, word64_of(block, 5)};
}

// A block for the session, before those from `first` on.
GCOORD_HD inline NameBlock session_block(const SessionRecord& session, NameBlockRow first) {
  NameBlock block;
  block.next = first.value != 0 ? first.value : NameBlock::kEnd;
  put_word64(block, 0, session.session.value);
  block.words[2] = session.ttl_ms;
  return block;
}

GCOORD_HD inline NameBlockRow store_block(const LockTables& tables, const NameBlock& block) {
  const NameBlockRow row = tables.name_blocks.take();
  tables.name_blocks[row] = block;
  return row;
}

// What the lock is, as its record and queue say it. Last waiter first, so that each block can name
// its follower.
GCOORD_HD inline NameBlockRow store_export(const LockTables& tables, LockRow lock_row) {
  const LockRecord& lock = tables.locks[lock_row];
  NameBlockRow first;
  RequestRow waiter = lock.queue_last;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kMoveWaitersMax && waiter.value != 0; ++i) {
    const RequestRecord& request = tables.requests[waiter];
    first = store_block(tables, session_block(tables.sessions[request.session_row], first));
    waiter = request.queue_previous;
  }
  GCOORD_ASSERT(waiter.value == 0);
  const bool held = lock.holder.value != 0;
  NameBlock head = session_block(held ? tables.sessions[lock.holder] : SessionRecord{}, first);
  put_word64(head, 3, held ? lock.token.value : 0);
  put_word64(head, 5, tables.shard(lock.shard).token_last);
  return store_block(tables, head);
}

// Whether everything about a held lock is plain, or why it cannot be moved. A holder who was
// granted it where it came to and has not asked for it there has an import that a move does not
// carry.
GCOORD_HD inline LockCode may_move(const LockTables& tables,
                                   LockRow lock_row,
                                   std::uint32_t name_bytes) {
  const LockRecord& lock = tables.locks[lock_row];
  const LockExtra extra = is_marked(lock) ? load_extra(tables, lock) : LockExtra{};
  if (extra.share_count != 0 || extra.hold_count != 1 || extra.note_first.value != 0 ||
      extra.delay_ms != 0 || tables.sessions[lock.holder].phase != SessionPhase::Live ||
      (extra.residence == Residence::Here && holder_unasked(tables, lock_row))) {
    return LockCode::MoveNotPlain;
  }
  if (!move_fits(name_bytes, lock.waiter_count)) {
    return LockCode::MoveCrowded;
  }
  RequestRow row = lock.queue_first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kMoveWaitersMax && row.value != 0; ++i) {
    const RequestRecord& waiter = tables.requests[row];
    if (waiter.token.value != 0 || waiter.holder.value != 0) {
      return LockCode::MoveNotPlain;
    }
    row = waiter.queue_next;
  }
  return LockCode::None;
}

// The shard gets its keeper with its first move.
GCOORD_HD inline void ensure_keeper(const LockTables& tables, ShardId shard) {
  if (find_session(tables, shard, kKeeperSession).value != 0) {
    return;
  }
  const SessionRow row =
      enter_session(tables, shard, kKeeperSession, 1, tables.session_hash(shard, kKeeperSession));
  tables.sessions[row].phase = SessionPhase::Keeper;
}

GCOORD_HD inline LockRow create_marked(const ApplyPoint& at, const LockCommand& command) {
  const LockRow row = create_lock(at.tables,
                                  at.shard,
                                  LockName{command.name_hash, command.name, command.name_bytes},
                                  at.tables.lock_hash(at.shard, command.name_hash));
  mark(at.tables, row);
  return row;
}

// Whether numbers are left for one more move of the lock, and for the tokens that follow it.
GCOORD_HD inline bool numbers_left(const LockTables& tables, LockRow row) {
  const LockRecord& lock = tables.locks[row];
  const std::uint32_t newest = is_marked(lock) ? load_extra(tables, lock).move_number : 0;
  return newest < kMoveNumberMax && tables.shard(lock.shard).token_last <= kMovedTokenMax;
}

template <typename Point>
GCOORD_HD_APART void apply_move_out(const Point& at, const LockCommand& command, LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRow row = find_lock(tables, at.shard, command.name_hash);
  // A name that nobody holds and that was never moved gets no record: it would stay for ever.
  if (row.value == 0) {
    reply.code = LockCode::NotHeld;
    return;
  }
  const bool kept = answer_kept(tables, row, reply);
  if (!kept) {
    reply.code = may_move(tables, row, command.name_bytes);
  }
  if (reply.code == LockCode::Moved || (!kept && reply.code != LockCode::None)) {
    return;
  }
  if (!numbers_left(tables, row)) {
    reply.code = LockCode::MoveNotPlain;
    return;
  }
  // Never to the shard itself: who proposes sees to it. The step does not know its shard's number,
  // since logs are replayed under others.
  ensure_keeper(tables, at.shard);
  if (kept) {
    take_from_keeper(tables, row);
  }
  mark(tables, row);
  LockRecord& lock = tables.locks[row];
  LockExtra extra;
  extra.name_first = load_extra(tables, lock).name_first;
  extra.move_number = load_extra(tables, lock).move_number + 1;
  extra.residence = Residence::Away;
  extra.away_to = move_shard(command);
  extra.export_first = store_export(tables, row);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kMoveWaitersMax && lock.queue_first.value != 0; ++i) {
    const FencingToken to{extra.away_to.value};
    end_wait(tables, lock.queue_first, LockCode::Moved, to, at.events);
  }
  if (lock.holder.value != 0) {
    unlink_holder(tables, row);
    lock.holder = SessionRow{};
  }
  store_extra(tables, lock, extra);
  give_to_keeper(tables, row);
  reply.code = LockCode::MovedOut;
  reply.token = FencingToken{extra.move_number};
}

// The registration of a session that comes with a lock, new or not; none if it has ended here.
GCOORD_HD inline SessionRow receive_session(const ApplyPoint& at, const MovedSession& moved) {
  const LockTables& tables = at.tables;
  const SessionRow row = find_session(tables, at.shard, moved.session);
  if (row.value == 0) {
    return enter_session(tables,
                         at.shard,
                         moved.session,
                         moved.ttl_ms,
                         tables.session_hash(at.shard, moved.session));
  }
  return tables.sessions[row].phase == SessionPhase::Live ? row : SessionRow{};
}

// Queues the i-th session that comes with the lock. One that waits for as many locks here as it may
// loses its place, as an acquire of its own would find none.
GCOORD_HD inline void receive_waiter(const ApplyPoint& at,
                                     const LockCommand& command,
                                     LockRow lock_row,
                                     std::uint32_t i) {
  const LockTables& tables = at.tables;
  const SessionRow session_row = receive_session(at, moved_session(command, i));
  if (session_row.value == 0) {
    return;
  }
  const bool full = tables.sessions[session_row].request_count == kSessionRequestsMax;
  if (full && !forget_oldest(tables, session_row)) {
    return;
  }
  const RequestRow row = tables.requests.take();
  RequestRecord& request = tables.requests[row];
  // One command brings each place once, and one index is one command's.
  static_assert(kMoveWaitersMax < 2048);
  const std::uint64_t lapses = (command.flags & kMoveInLapses) != 0 ? kLapsingSequence : 0;
  request.sequence = RequestSequence{kImportedSequence | lapses | (at.index.value << 11 | i)};
  request.session_row = session_row;
  request.argument_hash = import_hash(command.name_hash);
  request.code = LockCode::Waiting;
  request.enqueued_at = at.index;
  link_request(tables, row);
  enqueue_waiter(tables, lock_row, row);
}

// The lock is here from now on: nobody's, and with nobody in its queue.
GCOORD_HD inline LockRow receive_lock(const ApplyPoint& at,
                                      const LockCommand& command,
                                      LockRow found) {
  const LockTables& tables = at.tables;
  ensure_keeper(tables, at.shard);
  LockRow row = found;
  if (row.value == 0) {
    row = create_marked(at, command);
  } else {
    take_from_keeper(tables, row);
  }
  LockExtra extra;
  extra.name_first = load_extra(tables, tables.locks[row]).name_first;
  release_export(tables, load_extra(tables, tables.locks[row]).export_first);
  extra.residence = Residence::Here;
  extra.move_number = move_number(command);
  store_extra(tables, tables.locks[row], extra);
  return row;
}

template <typename Point>
GCOORD_HD_APART void apply_move_in(const Point& at, const LockCommand& command, LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRow found = find_lock(tables, at.shard, command.name_hash);
  if (found.value != 0) {
    const LockRecord& lock = tables.locks[found];
    const LockExtra extra = is_marked(lock) ? load_extra(tables, lock) : LockExtra{};
    if (extra.move_number >= move_number(command)) {
      reply.code = LockCode::MovedIn;
      reply.replayed = true;
      return;
    }
    if (extra.residence != Residence::Away) {
      reply.code = LockCode::MoveRefused;
      return;
    }
  }
  LockShardRow& shard = tables.shard(at.shard);
  if (shard.token_last < moved_token_last(command)) {
    shard.token_last = moved_token_last(command);
  }
  const LockRow row = receive_lock(at, command, found);
  LockRecord& lock = tables.locks[row];
  lock.token = command.token;
  lock.granted_at = at.index;
  const std::uint32_t count = moved_count(command);
  if (count != 0) {
    const SessionRow holder = receive_session(at, moved_session(command, 0));
    if (holder.value != 0) {
      link_holder(tables, row, holder);
    }
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 1; i <= kMoveWaitersMax && i < count; ++i) {
    receive_waiter(at, command, row, i);
  }
  if (lock.holder.value == 0) {
    wake(tables, row, at.index, at.events);
  }
  reply.code = LockCode::MovedIn;
}

template <typename Point>
GCOORD_HD_APART void apply_move_done(const Point& at,
                                     const LockCommand& command,
                                     LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRow row = find_lock(tables, at.shard, command.name_hash);
  reply.code = LockCode::MoveRefused;
  if (row.value == 0 || !is_marked(tables.locks[row])) {
    return;
  }
  LockExtra extra = load_extra(tables, tables.locks[row]);
  if (extra.move_number < move_number(command)) {
    return;
  }
  reply.code = LockCode::MoveSealed;
  reply.replayed = extra.move_number != move_number(command) || extra.export_first.value == 0;
  if (!reply.replayed) {
    release_export(tables, extra.export_first);
    extra.export_first = NameBlockRow{};
    store_extra(tables, tables.locks[row], extra);
  }
}

// The place is nobody's any more: whoever is next comes in, as after any end.
template <typename Point>
GCOORD_HD_APART void apply_move_lapse(const Point& at,
                                      const LockCommand& command,
                                      LockReply& reply) {
  const LockTables& tables = at.tables;
  reply.code = LockCode::NotWaiting;
  const SessionRow session_row = find_session(tables, at.shard, command.session);
  const LockRow lock_row = find_lock(tables, at.shard, command.name_hash);
  if (session_row.value == 0 || lock_row.value == 0) {
    return;
  }
  const RequestRow row = find_request(tables, tables.sessions[session_row], command.sequence);
  if (row.value == 0 || !is_unclaimed(tables, row, lock_row)) {
    return;
  }
  if (tables.requests[row].code == LockCode::Waiting) {
    reply.code = LockCode::WaitCancelled;
    end_wait(tables, row, LockCode::WaitCancelled, FencingToken{}, at.events);
    forget_import(tables, row);
    wake(tables, lock_row, at.index, at.events);
  } else {
    reply.code = LockCode::Released;
    reply.token = tables.locks[lock_row].token;
    tables.requests[row].code = LockCode::WaitCancelled;
    tables.requests[row].token = FencingToken{};
    pass_on(tables, lock_row, at.index, at.events);
  }
}

}  // namespace gcoord::locks
