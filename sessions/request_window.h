// The exactly-once window: what each session asked in this shard, and what it was answered.
//
// After RIFL (Lee et al., SOSP 2015). A request is found by (session, sequence); a retry gets the
// stored reply. `acked_below` says which replies the client has; they are let go. RIFL's window
// would stop a client whose oldest request is a wait without end, since acked_below cannot pass it.
// So a full window forgets its oldest finished reply instead: sequences up to it that have no
// record are refused from then on (SequenceForgotten), never run a second time. Waits are never
// forgotten, and count as the newest when they end. A client that has at most kSessionRequestsMax
// unanswered requests per shard never meets this.
//
// The record of a request is the machine's, since the reply that it stores is; it has the members
// sequence, session_row, next, previous and argument_hash, and waits() says that it is not answered
// yet. The tables have a RowPool of them, `requests`, beside what registrations.h asks for. Pure
// functions over the tables; every loop is bounded by kSessionRequestsMax. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/row_list.h"
#include "sessions/record.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace gcoord::sessions {

// Why a request has no place in the window. Never renumber: machines answer with these numbers in
// their own codes, which snapshots store.
enum class WindowRefusal : std::uint8_t {
  None = 0,
  SequenceStale = 17,      // The client said that it knows this reply (acked_below is above it).
  SequenceForgotten = 18,  // Too old to tell whether it ran; it is not run (again).
  SequenceAhead = 19,      // More than kSequenceAheadMax above acked_below.
  SequenceReused = 20,     // The same sequence came before with other arguments.
  WindowFull = 21,         // The session waits for kSessionRequestsMax answers of this shard.
};

template <typename Tables>
using RequestOf =
    std::remove_reference_t<decltype(std::declval<const Tables&>().requests[RequestRow{}])>;

template <typename Tables>
using RequestList = RowList<&RequestOf<Tables>::next, &RequestOf<Tables>::previous>;

// Puts a request at the newest end of its session's list.
template <typename Tables>
GCOORD_HD inline void link_request(const Tables& tables, RequestRow row) {
  SessionRecord& session = tables.sessions[tables.requests[row].session_row];
  RequestList<Tables>::push_last(
      tables.requests, row, RowEnds<RequestRow>{session.request_oldest, session.request_newest});
  ++session.request_count;
}

template <typename Tables>
GCOORD_HD inline void unlink_request(const Tables& tables, RequestRow row) {
  SessionRecord& session = tables.sessions[tables.requests[row].session_row];
  RequestList<Tables>::unlink(
      tables.requests, row, RowEnds<RequestRow>{session.request_oldest, session.request_newest});
  GCOORD_ASSERT(session.request_count > 0);
  --session.request_count;
}

// The session's request of this sequence, or none. Newest first: that is what retries ask for.
template <typename Tables>
GCOORD_HD inline RequestRow find_request(const Tables& tables,
                                         const SessionRecord& session,
                                         RequestSequence sequence) {
  RequestRow row = session.request_newest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const auto& request = tables.requests[row];
    if (request.sequence == sequence) {
      return row;
    }
    row = request.previous;
  }
  return RequestRow{};
}

// Lets go of the finished requests that the client knows the replies of; `give_back` takes rows.
template <typename Tables, typename GiveBack>
GCOORD_HD inline void acknowledge_below(const Tables& tables,
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
    const auto& request = tables.requests[row];
    const RequestRow next = request.next;
    if (request.sequence < acked_below && !request.waits()) {
      unlink_request(tables, row);
      give_back(row);
    }
    row = next;
  }
}

// Forgets the oldest finished request of a full window; false when all of them wait.
template <typename Tables>
GCOORD_HD inline bool forget_oldest(const Tables& tables, SessionRow session_row) {
  SessionRecord& session = tables.sessions[session_row];
  RequestRow row = session.request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const auto& request = tables.requests[row];
    if (!request.waits()) {
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
GCOORD_HD inline WindowRefusal refuse_sequence(const SessionRecord& session,
                                               RequestSequence sequence) {
  if (sequence < session.acked_below) {
    return WindowRefusal::SequenceStale;
  }
  if (sequence < session.forgotten_below) {
    return WindowRefusal::SequenceForgotten;
  }
  if (sequence - session.acked_below > kSequenceAheadMax) {
    return WindowRefusal::SequenceAhead;
  }
  return WindowRefusal::None;
}

// What a command says of its request.
struct RequestKey {
  RequestSequence sequence;
  RequestSequence acked_below;
  std::uint32_t argument_hash = 0;  // Tells a retry from another request under the same sequence.
};

// Where a request stands in the window: a fresh record that is linked, the stored one of a retry,
// or none with the reason.
struct RequestAdmission {
  RequestRow row{};
  bool retried = false;
  WindowRefusal refusal = WindowRefusal::None;
};

// Begins a request of a live session.
template <typename Tables>
GCOORD_HD inline RequestAdmission admit_request(const Tables& tables,
                                                SessionRow session_row,
                                                const RequestKey& key) {
  const SessionRecord& session = tables.sessions[session_row];
  GCOORD_ASSERT(session.phase == SessionPhase::Live);
  acknowledge_below(tables, session_row, key.acked_below, [&](RequestRow row) {
    tables.requests.give_back(row);
  });
  const RequestRow found = find_request(tables, session, key.sequence);
  if (found.value != 0) {
    if (tables.requests[found].argument_hash != key.argument_hash) {
      return {.refusal = WindowRefusal::SequenceReused};
    }
    return {.row = found, .retried = true};
  }
  WindowRefusal refusal = refuse_sequence(session, key.sequence);
  if (refusal != WindowRefusal::None) {
    return {.refusal = refusal};
  }
  if (session.request_count == kSessionRequestsMax && !forget_oldest(tables, session_row)) {
    return {.refusal = WindowRefusal::WindowFull};
  }
  // Forgetting may have passed this very sequence.
  refusal = refuse_sequence(session, key.sequence);
  if (refusal != WindowRefusal::None) {
    return {.refusal = refusal};
  }
  const RequestRow row = tables.requests.take();
  auto& request = tables.requests[row];
  request.sequence = key.sequence;
  request.session_row = session_row;
  request.argument_hash = key.argument_hash;
  link_request(tables, row);
  return {.row = row};
}

}  // namespace gcoord::sessions
