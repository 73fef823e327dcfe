// Storage requests and applied ranges that a row emits at the end of a step, and the answers of
// storage.
//
// Storage is a peer (docs/internals/architecture.md): a request leaves by the outbox and its
// acknowledgement comes by the inbox of a later step, so that "durable before sent" is state of the
// row. Where memory is all the storage there is, the answer is the request itself. Pure; host and
// device.
#pragma once

#include "consensus/step/decided.h"
#include "consensus/step/step_row.h"

namespace gcoord::consensus {

// Memory mode: what the row holds is as firm as it gets. A vote of a candidate, or the entries of a
// leader that is a quorum by itself, are counted in a next step that nobody else would cause.
template <typename Row>
GCOORD_HD inline void keep_in_memory(const Row& r) {
  Storage& storage = r.storage();
  storage.snapshot_pending = 0;
  storage.durable = r.log().last;
  storage.pending_last = r.log().last;
  storage.persist_from = r.log().last + 1;
  storage.durable_term = r.hot().term;
  storage.durable_vote = r.hot().vote;
  r.out.want_again(r.hot().role == Role::Candidate ||
                   (r.is_leader() && is_quorum(r.configuration(), self_mask(r))));
}

// Hands everything to storage that it does not have, one request at a time. The commit index goes
// along; by itself it is worth a request only where a configuration waits for it.
template <typename Row>
GCOORD_HD inline void emit_storage(const Row& r) {
  Storage& storage = r.storage();
  const Log& log = r.log();
  const bool dirty = !hard_state_durable(r) || storage.persist_from <= log.last ||
                     storage.snapshot_pending != 0 || decision_is_news(r);
  if (storage.request_pending != 0 || !dirty) {
    return;
  }
  if (in_memory_mode(r.input)) {
    keep_in_memory(r);
    return;
  }
  StorageRequest& request = r.out.storage;
  request.term = r.hot().term;
  request.vote = r.hot().vote;
  request.present = 1;
  request.snapshot = storage.snapshot_pending;
  request.first = storage.persist_from;
  request.last = log.last;
  request.commit = log.commit;
  storage.request_pending = 1;
  storage.snapshot_pending = 0;
  storage.pending_last = log.last;
  storage.persist_from = log.last + 1;
  hand_over_decision(r);
}

// Storage finished the request under way. Entries that were cut meanwhile are not counted:
// pending_last fell with them.
template <typename Row>
GCOORD_HD inline void on_storage_ack(const Row& r, const StorageAck& ack) {
  Storage& storage = r.storage();
  if (ack.present == 0 || storage.request_pending == 0) {
    return;
  }
  storage.request_pending = 0;
  storage.durable = max_id(storage.durable, storage.pending_last);
  keep_decision(r);
  const bool same_vote = ack.term == storage.durable_term && ack.vote == storage.durable_vote;
  if (!same_vote && !r.leaves_plain()) {
    storage.durable_term = ack.term;
    storage.durable_vote = ack.vote;
  }
}

// Memory mode: what was just handed over is stored, because the owner keeps it before anything of
// this outbox leaves (outbox.h). Nobody calls the row for it, so a replica that decides alone asks
// for another step. Whether storage moved.
template <typename Row>
GCOORD_HD inline bool store_at_once(const Row& r) {
  const StorageRequest& request = r.out.storage;
  if (r.input.stored_at_once == 0 || request.present == 0) {
    return false;
  }
  on_storage_ack(r, {request.term, request.vote, 1});
  r.out.want_again(r.hot().role != Role::Follower && is_quorum(r.configuration(), self_mask(r)));
  return true;
}

template <typename Row>
GCOORD_HD inline void emit_apply(const Row& r) {
  const Log& log = r.log();
  const LogIndex ready = min_id(firmly_decided(r), r.storage().durable);
  if (r.storage().apply_pending != 0 || log.applied >= ready) {
    return;
  }
  r.out.apply = ApplyRequest{log.applied + 1, ready};
  r.storage().apply_pending = 1;
}

}  // namespace gcoord::consensus
