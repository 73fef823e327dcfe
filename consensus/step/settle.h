// Settling: a row at rest takes three kinds of news without a step: that entries were applied, that
// storage finished, that more is decided.
//
// Of a busy row these are half of all inputs, and a step for each of them looks at everything else
// in vain. The two with conditions say what the whole step would, bit by bit, in the row and in the
// outbox, or change nothing and say that a step is needed; a test holds them against it. The first
// is for owners who apply within the turn that decided. Pure; host and device.
#pragma once

#include "consensus/step/step.h"

namespace gcoord::consensus {

// The row's ApplyRequest was carried out up to `applied`, without a configuration in it, which is
// a step's (InboxHead::configuration_input). True: more is decided and stored than was asked for,
// so the row wants a step that asks for the rest.
GCOORD_HD inline bool settle_applied(ShardRef shard, LogIndex applied) {
  Log& log = shard.log();
  GCOORD_ASSERT_ALL(applied > log.applied, applied <= log.commit);
  GCOORD_ASSERT(shard.storage().apply_pending != 0);
  log.applied = applied;
  shard.storage().apply_pending = 0;
  return applied < min_id(log.commit, shard.storage().durable);
}

// Whether no rule of readmission or of memory mode has a say in a step.
GCOORD_HD inline bool lives_are_whole(const StepRow& r) {
  return !lives_can_end(r.input) && !is_forgetful(r) && r.input.stored_at_once == 0;
}

// Whether storage has, or is about to have, everything of the row.
GCOORD_HD inline bool all_handed_over(const StepRow& r) {
  return r.storage().persist_from > r.log().last && r.storage().snapshot_pending == 0;
}

// A follower of a living leader that owes nothing but an acknowledgement. Its step runs no timer
// and campaigns for nothing. The leader's record, or none.
GCOORD_HD inline Found<PeerLiveness> leader_of_resting(const StepRow& r) {
  const Hot& hot = r.hot();
  const Election& election = r.election();
  const bool owes_more = ((hot.flags & ~kRowAppendReply) != 0) | (replies_owed(r) != 0) |
                         (election.guest_kind != 0) | (election.resigned_term.value != 0);
  if ((hot.role != Role::Follower) | (hot.deadline != kTickNever) | owes_more ||
      !lives_are_whole(r) || !trusts_leader(r)) {
    return {};
  }
  const Found<PeerLiveness> peer = peer_named(r, hot.leader);
  return peer.found() && (peer->live != 0) & (peer->credit != 0) ? peer : Found<PeerLiveness>{};
}

// Whether the leader's own storage can change nothing but how far its own log counts: everybody who
// is behind was told and is waited for.
GCOORD_HD inline bool leads_at_rest(const StepRow& r) {
  const Election& election = r.election();
  const bool calm = (r.hot().role == Role::Leader) & (r.hot().flags == 0) &
                    (r.hot().deadline > r.input.tick) & (election.transfer_target == kSlotNone) &
                    (election.read_sequence == 0) & (replies_owed(r) == 0) &
                    (election.guest_kind == 0);
  if (!calm || !lives_are_whole(r) || mute(r) || !is_quorum(r.configuration(), bound_members(r)) ||
      r.configuration().joint()) {
    return false;
  }
  const SlotMask behind = members_behind(r);
  if (behind != 0 && r.hot().deadline > r.input.tick + r.input.timing.resend_ticks) {
    return false;
  }
  bool all_told = true;
  for_each_peer(r, [&](std::uint32_t slot, const PeerLiveness&) {
    const Progress& progress = r.progress(slot);
    const bool told = ((progress.flags & kProgressSent) != 0) &
                      (progress.state == ProgressState::Replicate) & (progress.next > r.log().last);
    all_told = all_told & (told | !has_slot(behind, slot));
  });
  return all_told;
}

// Whether the leader would find more decided if its own storage had reached `durable`.
GCOORD_HD inline bool would_decide(const StepRow& r, LogIndex durable) {
  std::uint64_t match[kReplicaSlots] = {};
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    const LogIndex reached = r.is_self(slot) ? durable : r.progress(slot).match;
    match[slot] = counts(r, slot) ? reached.value : 0;
  }
  return min_id(quorum_index(r, match), r.log().last) > r.log().commit;
}

// Storage finished the request under way. A follower's acknowledgement to its leader leaves at
// once; a leader notes how far its own log counts.
GCOORD_HD inline bool settle_stored(const StepRow& r, const StorageAck& ack) {
  const Storage& storage = r.storage();
  const bool same = (ack.present != 0) & (storage.request_pending != 0) &
                    (ack.term == storage.durable_term) & (ack.vote == storage.durable_vote);
  if (!same || !all_handed_over(r) || !hard_state_durable(r)) {
    return false;
  }
  if (r.is_leader()) {
    const LogIndex durable = max_id(storage.durable, storage.pending_last);
    if (!leads_at_rest(r) || would_decide(r, durable)) {
      return false;
    }
    on_storage_ack(r, ack);
    r.progress(r.hot().self_slot).match = durable;
    emit_apply(r);
    return true;
  }
  const Found<PeerLiveness> leader = leader_of_resting(r);
  if (!leader.found()) {
    return false;
  }
  on_storage_ack(r, ack);
  static_cast<void>(emit_append_reply(r, *leader, true));
  emit_apply(r);
  assert_storage(r);
  return true;
}

// The leader's word, to be answered by nobody, of how far the log is decided.
GCOORD_HD inline bool settle_notice(const StepRow& r, const Message& m) {
  const Log& log = r.log();
  const bool notice = (m.kind == MessageKind::Append) & (m.flags == kFlagNotice) & (m.count == 0) &
                      (m.context == 0) & (m.term == r.hot().term) & (m.from == r.hot().leader);
  if (!notice || !plausible(r, m) || !plausible_append(m) || m.index > log.last ||
      (r.hot().flags & kRowAppendReply) != 0) {
    return false;
  }
  const bool matches = m.index <= log.commit || r.term_at(m.index) == m.log_term;
  const bool stores_nothing =
      r.storage().request_pending != 0 || (all_handed_over(r) && hard_state_durable(r));
  if (!matches || !stores_nothing || !leader_of_resting(r).found()) {
    return false;
  }
  on_append(r, m, 0);
  emit_apply(r);
  return true;
}

}  // namespace gcoord::consensus
