// Effects of a session's end on locks (sessions/session_end.h): waits end, locks pass on.
//
// The end of a session is one fact in the log: from that command on nothing is granted to it and
// nothing is accepted from it. Its waits end in the same command; its locks pass on, at most
// kReleasesPerCommandMax per command, and the leader proposes again while the reply says `more`.
// Pure functions over the tables; bounded loops. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/reply.h"
#include "locks/state/delay.h"
#include "locks/state/keys.h"
#include "locks/state/queue.h"
#include "locks/state/requests.h"
#include "locks/state/share.h"
#include "locks/state/table.h"
#include "sessions/registrations.h"
#include "sessions/session_end.h"

namespace gcoord::locks {

using sessions::enter_session;
using sessions::link_session;
using sessions::remove_session;

GCOORD_HD inline SessionRow register_session(const LockTables& tables,
                                             ShardId shard,
                                             const LockCommand& command,
                                             const LockKeys& keys,
                                             LockReply& reply) {
  const SessionRow row =
      enter_session(tables, shard, command.session, command.ttl_ms, keys.session_hash);
  reply.change = RegistrationChange::Added;
  reply.changed_row = row;
  return row;
}

// Forgets all requests of a session that ends; its waits end with an event.
GCOORD_HD inline void end_requests(const LockTables& tables,
                                   SessionRow row,
                                   LogIndex index,
                                   LockEvents& events) {
  SessionRecord& session = tables.sessions[row];
  // Locks that others may come into now; not before all waits of this session are out of the way. A
  // lock that is waited for is held, and stays so meanwhile.
  LockRow left[kSessionRequestsMax];
  std::uint32_t left_count = 0;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax; ++i) {
    const RequestRow request_row = session.request_oldest;
    if (request_row.value == 0) {
      break;
    }
    if (tables.requests[request_row].code == LockCode::Waiting) {
      const LockRow lock = tables.requests[request_row].lock;
      end_wait(tables, request_row, LockCode::SessionExpired, FencingToken{}, events);
      if (is_marked(tables.locks[lock])) {
        left[left_count++] = lock;
      }
    }
    unlink_request(tables, request_row);
    tables.requests.give_back(request_row);
  }
  GCOORD_ASSERT(session.request_count == 0);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < left_count; ++i) {
    wake(tables, left[i], index, events);
  }
}

// One step of the end of a session; reply.more says that locks are left. A session of which the
// first step was an expiry has failed: locks with a delay stay, and with them its registration.
GCOORD_HD inline void end_session(const LockTables& tables,
                                  SessionRow row,
                                  LogIndex index,
                                  LockEvents& events,
                                  LockReply& reply) {
  SessionRecord& session = tables.sessions[row];
  if (session.phase == SessionPhase::Live) {
    const bool expires = reply.code == LockCode::SessionExpired;
    session.phase = SessionPhase::Dying;
    end_requests(tables, row, index, events);
    session.phase = expires ? SessionPhase::Failed : SessionPhase::Dying;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kReleasesPerCommandMax && session.hold_first.value != 0; ++i) {
    // A plain lock goes to one, but waits and marked locks may have left no room for even that.
    const LockRecord& first = tables.locks[session.hold_first];
    if (session.phase == SessionPhase::Failed && wants_delay(tables, first)) {
      begin_delay(tables, session.hold_first);
      continue;
    }
    const bool may_wake_many = is_marked(first);
    const std::uint32_t needed = may_wake_many ? kHoldersMax : 1;
    if (kEndEventsMax - events.part_count() < needed) {
      break;
    }
    pass_on(tables, session.hold_first, index, events);
  }
  reply.changed_row = row;
  reply.change = sessions::settle_end(tables, row);
  reply.more = reply.change == RegistrationChange::Dying;
}

}  // namespace gcoord::locks
