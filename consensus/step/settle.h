// Settling: a row at rest takes most of its news without a step: that entries were applied, that
// storage finished, what its leader sends, what its followers answer.
//
// Of a busy row these are nearly all inputs, and a step for each of them looks at everything else
// in vain: at timers that are not due, elections, reads, transfers, replies that nobody waits for.
// Where a row owes none of that, an input is settled by the same functions that the step calls for
// it, and by those of the step's end that can still have something to do. So all but the first say
// what the whole step would, bit by bit, in the row and in the outbox, or change nothing and say
// that a step is needed; a test holds them against it. The first is for owners who apply within the
// turn that decided. Pure; host and device.
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
  move_applied(log, applied);
  shard.storage().apply_pending = 0;
  return applied < min_id(log.commit, shard.storage().durable);
}

// Whether no rule of readmission or of memory mode has a say in a step.
GCOORD_HD inline bool lives_are_whole(const StepRow& r) {
  return !lives_can_end(r.input) && !is_forgetful(r) && r.input.stored_at_once == 0;
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

// A leader in the middle of its term, to whom a quorum is bound and who owes nothing but what
// lead_on() says. Its step runs no timer, confirms no read and hands nothing over.
GCOORD_HD inline bool leads_at_rest(const StepRow& r) {
  const Hot& hot = r.hot();
  const Election& election = r.election();
  const bool calm = (hot.role == Role::Leader) & (hot.flags == 0) & (hot.deadline > r.input.tick) &
                    (election.transfer_target == kSlotNone) & (election.read_sequence == 0) &
                    (replies_owed(r) == 0) & (election.guest_kind == 0);
  return calm && lives_are_whole(r) && !mute(r) && !r.configuration().joint() &&
         is_quorum(r.configuration(), bound_members(r));
}

// The end of the step of a leader at rest.
GCOORD_HD inline void lead_on(const StepRow& r) {
  advance_commit(r);
  const SlotMask behind = members_behind(r);
  set_leader_deadline(r, behind);
  emit_storage(r);
  for_each_peer<StepRow::kEmitUnroll>(r, [&](std::uint32_t slot, const PeerLiveness& peer) {
    if (has_slot(behind, slot)) {
      emit_lead(r, slot, peer);
    }
  });
  emit_apply(r);
  r.out.want_again((r.hot().flags & kRowStalled) != 0);
  assert_invariants(r);
}

// The end of the step of a follower at rest; its leader takes a message.
GCOORD_HD inline void follow_on(const StepRow& r, const PeerLiveness& leader, bool storage_moved) {
  emit_storage(r);
  static_cast<void>(emit_append_reply(r, leader, storage_moved));
  emit_apply(r);
  assert_invariants(r);
}

// Storage finished the request under way.
GCOORD_HD inline bool settle_stored(const StepRow& r, const StorageAck& ack) {
  const Storage& storage = r.storage();
  const bool same = (ack.present != 0) & (storage.request_pending != 0) &
                    (ack.term == storage.durable_term) & (ack.vote == storage.durable_vote);
  if (!same) {
    return false;
  }
  if (r.is_leader()) {
    if (!leads_at_rest(r)) {
      return false;
    }
    on_storage_ack(r, ack);
    lead_on(r);
    return true;
  }
  const Found<PeerLiveness> leader = leader_of_resting(r);
  if (!leader.found()) {
    return false;
  }
  on_storage_ack(r, ack);
  follow_on(r, *leader, true);
  return true;
}

// Entries behind the log's end, or how far the log is decided, of the leader that the row follows.
// What agrees with the log only; entries that the log may hold already are a step's.
GCOORD_HD inline bool settle_append(const StepRow& r, const Message& m) {
  const Log& log = r.log();
  const bool news = (m.kind == MessageKind::Append) & ((m.flags & ~kFlagNotice) == 0) &
                    (m.term == r.hot().term) & (m.from == r.hot().leader) & (m.index <= log.last) &
                    ((m.count == 0) | (m.index == log.last));
  if (!news || !plausible(r, m) || !plausible_append(m)) {
    return false;
  }
  const bool matches = m.index <= log.commit || r.term_at(m.index) == m.log_term;
  if (!matches) {
    return false;
  }
  const Found<PeerLiveness> leader = leader_of_resting(r);
  if (!leader.found()) {
    return false;
  }
  on_append(r, m, 0);
  follow_on(r, *leader, false);
  return true;
}

// A voter that is being sent entries has stored some, or knows that they are decided. It may decide
// more, of which the others are told at once.
GCOORD_HD inline bool settle_append_reply(const StepRow& r, const Message& m) {
  const bool accepted = (m.kind == MessageKind::AppendReply) & (m.flags == 0) &
                        (m.term == r.hot().term) & (m.index <= r.log().last);
  if (!accepted || !plausible(r, m) || !leads_at_rest(r)) {
    return false;
  }
  const std::uint8_t slot = slot_of(r.configuration(), m.from);
  if (slot >= r.shard.slot_count() || !has_slot(r.configuration().voters, slot) ||
      r.progress(slot).state != ProgressState::Replicate) {
    return false;
  }
  on_append_reply(r, m);
  lead_on(r);
  return true;
}

// A message of a peer.
GCOORD_HD inline bool settle_message(const StepRow& r, const Message& m) {
  return m.kind == MessageKind::Append ? settle_append(r, m) : settle_append_reply(r, m);
}

}  // namespace gcoord::consensus
