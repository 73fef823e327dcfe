// Requests about locks in the exactly-once window (sessions/request_window.h): a retry is answered
// with the reply that was stored.
//
// Pure functions over the tables; every loop is bounded by kSessionRequestsMax. Host and device.
#pragma once

#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/keys.h"
#include "locks/state/table.h"
#include "sessions/request_window.h"

namespace gcoord::locks {

using sessions::acknowledge_below;
using sessions::find_request;
using sessions::forget_oldest;
using sessions::link_request;
using sessions::unlink_request;

// A refusal of the window has the number of the code that says it.
GCOORD_HD constexpr LockCode code_of(sessions::WindowRefusal refusal) {
  return static_cast<LockCode>(refusal);
}

static_assert(code_of(sessions::WindowRefusal::None) == LockCode::None);
static_assert(code_of(sessions::WindowRefusal::SequenceStale) == LockCode::SequenceStale);
static_assert(code_of(sessions::WindowRefusal::SequenceForgotten) == LockCode::SequenceForgotten);
static_assert(code_of(sessions::WindowRefusal::SequenceAhead) == LockCode::SequenceAhead);
static_assert(code_of(sessions::WindowRefusal::SequenceReused) == LockCode::SequenceReused);
static_assert(code_of(sessions::WindowRefusal::WindowFull) == LockCode::WindowFull);

// Begins the request of an acquire or release of a live session: the row of its fresh record, or
// none when `reply` says it all (a retry, or a refusal that leaves no record).
GCOORD_HD inline RequestRow begin_request(const LockTables& tables,
                                          SessionRow session_row,
                                          const LockCommand& command,
                                          const LockKeys& keys,
                                          LockReply& reply) {
  const sessions::RequestAdmission admission =
      sessions::admit_request(tables,
                              session_row,
                              {.sequence = command.sequence,
                               .acked_below = command.acked_below,
                               .argument_hash = keys.argument_hash});
  reply.code = code_of(admission.refusal);
  if (!admission.retried) {
    return admission.row;
  }
  const RequestRecord& request = tables.requests[admission.row];
  reply.code = request.code;
  if (!request.waits()) {  // Else they say what it waits for (lock_extra.h).
    reply.token = request.token;
    reply.holder = request.holder;
  }
  reply.replayed = true;
  return RequestRow{};
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
