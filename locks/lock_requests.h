// Exactly-once: what each session asked in this shard, and what it was answered.
//
// After RIFL (Lee et al., SOSP 2015). A request is found by (session, sequence); a retry gets the
// stored reply. `acked_below` says which replies the client has; they are let go. RIFL's window
// would stop a client whose oldest request is a wait without end, since acked_below cannot pass it.
// So a full window forgets its oldest finished reply instead: sequences up to it that have no
// record are refused from then on (SequenceForgotten), never run a second time. Waits are never
// forgotten, and count as the newest when they end. A client that has at most kSessionRequestsMax
// unanswered requests per shard never meets this.
//
// Pure functions over the tables; every loop is bounded by kSessionRequestsMax. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/lock_command.h"
#include "locks/lock_keys.h"
#include "locks/lock_reply.h"
#include "locks/lock_table.h"

#include <cstdint>

namespace gcoord::locks {

// Puts a request at the newest end of its session's list.
GCOORD_HD inline void link_request(const LockTables& tables, RequestRow row) {
  RequestRecord& request = tables.requests[row];
  SessionRecord& session = tables.sessions[request.session_row];
  request.next = RequestRow{};
  request.previous = session.request_newest;
  if (session.request_newest.value != 0) {
    tables.requests[session.request_newest].next = row;
  } else {
    session.request_oldest = row;
  }
  session.request_newest = row;
  ++session.request_count;
}

GCOORD_HD inline void unlink_request(const LockTables& tables, RequestRow row) {
  const RequestRecord& request = tables.requests[row];
  SessionRecord& session = tables.sessions[request.session_row];
  if (request.previous.value != 0) {
    tables.requests[request.previous].next = request.next;
  } else {
    session.request_oldest = request.next;
  }
  if (request.next.value != 0) {
    tables.requests[request.next].previous = request.previous;
  } else {
    session.request_newest = request.previous;
  }
  GCOORD_ASSERT(session.request_count > 0);
  --session.request_count;
}

// The session's request of this sequence, or none. Newest first: that is what retries ask for.
GCOORD_HD inline RequestRow find_request(const LockTables& tables,
                                         const SessionRecord& session,
                                         RequestSequence sequence) {
  RequestRow row = session.request_newest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    if (request.sequence == sequence) {
      return row;
    }
    row = request.previous;
  }
  return RequestRow{};
}

// Lets go of the finished requests that the client knows the replies of; `give_back` takes rows.
template <typename GiveBack>
GCOORD_HD inline void acknowledge_below(const LockTables& tables,
                                        SessionRow session_row,
                                        RequestSequence acked_below,
                                        const GiveBack& give_back) {
  SessionRecord& session = tables.sessions[session_row];
  if (acked_below <= session.acked_below) {
    return;
  }
  session.acked_below = acked_below;
  RequestRow row = session.request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    const RequestRow next = request.next;
    if (request.sequence < acked_below && request.code != LockCode::Waiting) {
      unlink_request(tables, row);
      give_back(row);
    }
    row = next;
  }
}

// Forgets the oldest finished request of a full window; false when all of them wait.
GCOORD_HD inline bool forget_oldest(const LockTables& tables, SessionRow session_row) {
  SessionRecord& session = tables.sessions[session_row];
  RequestRow row = session.request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    if (request.code != LockCode::Waiting) {
      if (!is_imported(request.sequence)) {
        session.forgotten_below = max_id(session.forgotten_below, request.sequence + 1);
      }
      unlink_request(tables, row);
      tables.requests.give_back(row);
      return true;
    }
    row = request.next;
  }
  return false;
}

// Why a sequence without a record cannot run, or None.
GCOORD_HD inline LockCode refuse_sequence(const SessionRecord& session, RequestSequence sequence) {
  if (sequence < session.acked_below) {
    return LockCode::SequenceStale;
  }
  if (sequence < session.forgotten_below) {
    return LockCode::SequenceForgotten;
  }
  if (sequence - session.acked_below > kSequenceAheadMax) {
    return LockCode::SequenceAhead;
  }
  return LockCode::None;
}

// Begins the request of an acquire or release of a live session: the row of its fresh record, or
// none when `reply` says it all (a retry, or a refusal that leaves no record).
GCOORD_HD inline RequestRow begin_request(const LockTables& tables,
                                          SessionRow session_row,
                                          const LockCommand& command,
                                          const LockKeys& keys,
                                          LockReply& reply) {
  const SessionRecord& session = tables.sessions[session_row];
  GCOORD_ASSERT(session.phase == SessionPhase::Live);
  acknowledge_below(tables, session_row, command.acked_below, [&](RequestRow row) {
    tables.requests.give_back(row);
  });
  const std::uint32_t arguments = keys.argument_hash;
  const RequestRow found = find_request(tables, session, command.sequence);
  if (found.value != 0) {
    const RequestRecord& request = tables.requests[found];
    if (request.argument_hash != arguments) {
      reply.code = LockCode::SequenceReused;
      return RequestRow{};
    }
    reply.code = request.code;
    if (request.code != LockCode::Waiting) {  // Else they say what it waits for (lock_extra.h).
      reply.token = request.token;
      reply.holder = request.holder;
    }
    reply.replayed = true;
    return RequestRow{};
  }
  reply.code = refuse_sequence(session, command.sequence);
  if (reply.code != LockCode::None) {
    return RequestRow{};
  }
  if (session.request_count == kSessionRequestsMax && !forget_oldest(tables, session_row)) {
    reply.code = LockCode::WindowFull;
    return RequestRow{};
  }
  // Forgetting may have passed this very sequence.
  reply.code = refuse_sequence(session, command.sequence);
  if (reply.code != LockCode::None) {
    return RequestRow{};
  }
  const RequestRow row = tables.requests.take();
  RequestRecord& request = tables.requests[row];
  request.sequence = command.sequence;
  request.session_row = session_row;
  request.argument_hash = arguments;
  link_request(tables, row);
  return row;
}

// Stores the reply of a request that is answered at once.
GCOORD_HD inline void store_reply(const LockTables& tables,
                                  RequestRow row,
                                  const LockReply& reply) {
  RequestRecord& request = tables.requests[row];
  request.code = reply.code;
  request.token = reply.token;
  request.holder = reply.holder;
}

}  // namespace gcoord::locks
