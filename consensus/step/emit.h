// The end of a step: writes what the row owes, from the row. Nothing here decides; what finds no
// credit stays owed.
#pragma once

#include "consensus/step/emit_storage.h"
#include "consensus/step/timers.h"

namespace gcoord::consensus {

template <typename Row>
GCOORD_HD inline Message message_to(const Row& r, NodeId to, MessageKind kind) {
  Message m;
  m.shard = r.shard.shard();
  m.kind = kind;
  m.from = r.input.self;
  m.to = to;
  m.term = r.hot().term;
  return m;
}

// (Pre-)votes and their replies also carry the sender's commit index and its term: see
// learn_commit.
template <typename Row>
GCOORD_HD inline void add_commit(const Row& r, Message& m) {
  m.commit = r.log().commit;
  m.entry_term = r.term_at(m.commit).value;
}

// Whether the channel to a slot takes a message; remembers that the row waits for it otherwise.
template <typename Row>
GCOORD_HD inline bool has_credit(const Row& r, const PeerLiveness& peer) {
  if (peer.credit == 0) {
    r.hot().flags = static_cast<std::uint8_t>(r.hot().flags | kRowStalled);
    return false;
  }
  return true;
}

GCOORD_HD inline bool take_bit(SlotMask& mask, std::uint32_t slot) {
  const bool set = has_slot(mask, slot);
  mask = static_cast<SlotMask>(mask & ~slot_bit(slot));
  return set;
}

// --- Requests
// ---------------------------------------------------------------------------------------------------

template <typename Row>
GCOORD_HD inline Message append_message(const Row& r, std::uint32_t slot) {
  const Log& log = r.log();
  const Progress& progress = r.progress(slot);
  Message m = message_to(r, r.node(slot), MessageKind::Append);
  m.index = progress.next - 1;
  m.log_term = r.term_at(m.index);
  m.commit = log.commit;
  m.context = has_slot(r.election().confirmed, slot) ? 0 : r.election().read_sequence;
  return m;
}

// Adds entries from `next` on: one term only, a configuration alone, within limits.
template <typename Row>
GCOORD_HD inline void attach_entries(const Row& r, Message& m) {
  const Log& log = r.log();
  const LogIndex first = m.index + 1;
  if (first > log.last) {
    return;
  }
  const Term term = r.term_at(first);
  LogIndex last = log.last;
  for (std::uint32_t k = 0; k < log.run_count; ++k) {
    if (run_term(log, r.runs(), k) == term) {
      last = run_end(log, r.runs(), k);
    }
  }
  const LogIndex configuration = log.configuration_pending;
  if (configuration == first) {
    last = first;
    m.flags = kFlagConfiguration;
  } else if (configuration > first && configuration <= last) {
    last = configuration - 1;
  }
  last = min_id(last, m.index + r.input.limits.message_entries);
  m.count = static_cast<std::uint16_t>(last - m.index);
  m.entry_term = term.value;
}

template <typename Row>
GCOORD_HD inline Message snapshot_message(const Row& r, std::uint32_t slot) {
  Message m = message_to(r, r.node(slot), MessageKind::Snapshot);
  m.index = r.log().applied;
  m.log_term = r.term_at(r.log().applied);
  m.commit = r.log().commit;
  return m;
}

template <typename Row>
GCOORD_HD inline Message readmit_message(const Row& r,
                                         std::uint32_t slot,
                                         const PeerLiveness& peer) {
  Message m = message_to(r, r.node(slot), MessageKind::Readmit);
  m.index = r.log().configuration_pending;
  m.context = peer.incarnation.value;
  return m;
}

// Whether a follower that is only told what is decided need not answer: it answered before, all
// there is was sent, and the row's timer has run for a while, so something was under way then and
// more is likely to come, whose answer says the same. If nothing does, the timer asks (timers.h).
// Who is to be readmitted, or to lead, is waited for and answers always.
template <typename Row>
GCOORD_HD inline bool notice_will_do(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  const Progress& progress = r.progress(slot);
  const std::uint32_t resend = r.input.timing.resend_ticks;
  const std::uint32_t while_ticks = resend / 4 > 1 ? resend / 4 : 1;
  const bool timer_runs = r.hot().deadline <= r.input.tick + (resend - while_ticks);
  return timer_runs & (progress.state == ProgressState::Replicate) &
         (progress.next > r.log().last) & ((progress.flags & kProgressHeard) != 0) &
         acknowledged(r, slot, peer) & counts(r, slot) & (r.election().transfer_target != slot);
}

// What a leader has to say to one living peer that is behind.
template <typename Row>
GCOORD_HD inline void emit_lead(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  Progress& progress = r.progress(slot);
  const bool replicates =
      progress.state == ProgressState::Replicate && progress.next > r.log().floor;
  if (!replicates && r.leaves_steady()) {
    return;
  }
  if (progress.state != ProgressState::Snapshot && progress.next <= r.log().floor) {
    progress.state = ProgressState::Snapshot;
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
  }
  const bool flowing = (progress.state == ProgressState::Replicate) &
                       (progress.next <= r.log().last) &
                       (progress.next - progress.match <= r.input.limits.window_entries);
  const bool sent = (progress.flags & kProgressSent) != 0;
  if ((sent && !flowing) || !has_credit(r, peer)) {
    return;
  }
  progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressSent);
  if (!sent && readmission_due(r, slot)) {
    r.push(readmit_message(r, slot, peer));
    return;
  }
  if (r.election().transfer_target == slot && progress.match == r.log().last) {
    Message order = message_to(r, r.node(slot), MessageKind::TimeoutNow);
    order.context = r.election().transfer_expires.value;
    r.push(order);
    return;
  }
  if (progress.state == ProgressState::Snapshot) {
    if (r.leaves_plain()) {
      return;
    }
    r.push(snapshot_message(r, slot));
    return;
  }
  Message m = append_message(r, slot);
  if (progress.state == ProgressState::Probe || flowing) {
    attach_entries(r, m);
  }
  if (m.count == 0 && m.context == 0 && notice_will_do(r, slot, peer)) {
    m.flags = kFlagNotice;
  }
  if (progress.state == ProgressState::Replicate) {
    progress.next = progress.next + m.count;
    r.out.want_again(progress.next <= r.log().last);
  }
  r.push(m);
}

template <typename Row>
GCOORD_HD inline void emit_campaign(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  Progress& progress = r.progress(slot);
  const bool voter = has_slot(r.configuration().voters_either(), slot);
  if (!voter || (progress.flags & kProgressSent) != 0 || !has_credit(r, peer)) {
    return;
  }
  progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressSent);
  const bool asking = r.hot().role == Role::PreCandidate;
  Message m = message_to(r, r.node(slot), asking ? MessageKind::PreVote : MessageKind::Vote);
  m.term = asking ? r.hot().term + 1 : r.hot().term;
  m.index = r.log().last;
  m.log_term = last_term(r.log(), r.runs());
  add_commit(r, m);
  if ((r.hot().flags & kRowTransferVote) != 0) {
    m.flags = kFlagTransfer;
    m.context = r.election().transfer_expires.value;
  }
  r.push(m);
}

// A former leader tells its peers so, also those that it does not hear: they may hear it, and then
// they trust it. They answer; it goes on until all know or it campaigns or follows (timers.h,
// votes.h), because nobody else might ever doubt it. Whether a message left.
template <typename Row>
GCOORD_HD inline bool emit_step_down(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  Progress& progress = r.progress(slot);
  const Election& election = r.election();
  const bool told = has_slot(election.confirmed, slot) || (progress.flags & kProgressSent) != 0;
  if (election.resigned_term.value == 0 || told) {
    return false;
  }
  const bool room = peer.live != 0 ? has_credit(r, peer) : peer.credit != 0;
  if (!room) {
    return false;
  }
  progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressSent);
  Message m = message_to(r, r.node(slot), MessageKind::StepDown);
  m.context = election.resigned_term.value;
  if (is_forgetful(r)) {
    m.flags = kFlagForgetful;
    m.context = r.input.incarnation.value;
  }
  r.push(m);
  return true;
}

template <typename Row>
GCOORD_HD inline void emit_query(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  const bool wanted = (r.hot().flags & kRowQueryLeader) != 0 && r.node(slot) == r.hot().leader;
  if (!wanted || !has_credit(r, peer)) {
    return;
  }
  r.hot().flags = static_cast<std::uint8_t>(r.hot().flags & ~kRowQueryLeader);
  Message m = message_to(r, r.node(slot), MessageKind::LeaderQuery);
  m.context = r.hot().term.value;
  r.push(m);
}

// At most one request per peer. `behind`: see members_behind.
template <typename Row>
GCOORD_HD inline void emit_request(const Row& r,
                                   std::uint32_t slot,
                                   const PeerLiveness& peer,
                                   SlotMask behind) {
  const Role role = r.hot().role;
  if (role == Role::Leader) {
    if (has_slot(behind, slot)) {
      emit_lead(r, slot, peer);
    }
  } else if (role != Role::Follower) {
    emit_campaign(r, slot, peer);
  } else if (!emit_step_down(r, slot, peer)) {
    emit_query(r, slot, peer);
  }
}

// --- Replies
// ----------------------------------------------------------------------------------------------------

// What an AppendReply was to say means nothing once it is said. Cleared, so that a row at rest is
// small (packed_row.h).
GCOORD_HD inline void forget_append(Election& election) {
  election.append_context = 0;
  election.reject_index = LogIndex{};
  election.reject_term = Term{};
}

// The acknowledgement owed to the leader. A success speaks for stable storage only; while some of
// the verified entries, or that a configuration is decided, are still being written it waits,
// unless storage has just brought part of them.
template <typename Row>
GCOORD_HD inline bool emit_append_reply(const Row& r,
                                        const PeerLiveness& peer,
                                        bool storage_moved) {
  Hot& hot = r.hot();
  const Log& log = r.log();
  if ((hot.flags & kRowAppendReply) == 0 || r.is_leader()) {
    return false;
  }
  const bool reject = (hot.flags & kRowAppendReject) != 0;
  const LogIndex ready = min_id(r.storage().durable, log.verified);
  const LogIndex decided = firmly_decided(r);
  const bool all_stored = (ready == log.verified) & (decided == log.commit);
  const bool term_durable = r.storage().durable_term == hot.term;
  const bool useful = term_durable & (all_stored | storage_moved);
  if ((!reject & !useful) || !has_credit(r, peer)) {
    return false;
  }
  Message m = message_to(r, hot.leader, MessageKind::AppendReply);
  m.commit = decided;
  m.context = r.election().append_context;
  if (reject) {
    const Term term = r.election().reject_term;
    const LogIndex hint = conflict_hint(log, r.runs(), r.election().reject_index, term);
    m.flags = kFlagReject;
    m.index = r.election().reject_index;
    m.entry_term = hint.value;
    m.log_term = r.term_at(hint);
  } else {
    m.index = ready;
    // Its send tick is a promise of trust, which the leader counts for its lease. A leader that was
    // recorded before its node's present life was heard of is not trusted (trusts_leader).
    m.entry_term = peer.incarnation == hot.leader_incarnation ? peer.peer_tick.value : 0;
  }
  m.flags = static_cast<std::uint8_t>(m.flags | (is_forgetful(r) ? kFlagForgetful : 0));
  const bool more_to_come = !reject && !all_stored;
  const auto done =
      static_cast<std::uint8_t>(more_to_come ? 0 : kRowAppendReply | kRowAppendReject);
  hot.flags = static_cast<std::uint8_t>(hot.flags & ~done);
  if (!more_to_come) {
    forget_append(r.election());
  }
  r.push(m);
  return true;
}

// A vote leaves only when it is durable; a refusal at once. Returns whether a message left.
template <typename Row>
GCOORD_HD inline bool emit_vote_reply(const Row& r, std::uint32_t slot) {
  const bool granted = r.hot().vote == r.node(slot);
  if (!has_slot(r.election().vote_reply, slot) || (granted && !hard_state_durable(r))) {
    return false;
  }
  take_bit(r.election().vote_reply, slot);
  Message m = message_to(r, r.node(slot), MessageKind::VoteReply);
  add_commit(r, m);
  m.flags = granted ? std::uint8_t{0} : kFlagReject;
  r.push(m);
  return true;
}

template <typename Row>
GCOORD_HD inline bool emit_pre_vote_reply(const Row& r, std::uint32_t slot) {
  Election& election = r.election();
  const bool granted = take_bit(election.prevote_grant, slot);
  const bool rejected = take_bit(election.prevote_reject, slot);
  if (!granted && !rejected) {
    return false;
  }
  Message m = message_to(r, r.node(slot), MessageKind::PreVoteReply);
  add_commit(r, m);
  m.term = granted ? election.prevote_term : r.hot().term;
  m.flags = granted ? std::uint8_t{0} : kFlagReject;
  r.push(m);
  return true;
}

template <typename Row>
GCOORD_HD inline bool emit_answer(const Row& r, std::uint32_t slot) {
  Election& election = r.election();
  if (take_bit(election.append_reject, slot)) {
    Message m = message_to(r, r.node(slot), MessageKind::AppendReply);
    m.flags = kFlagReject;
    r.push(m);
    return true;
  }
  if (!take_bit(election.answer, slot)) {
    return false;
  }
  Message m = message_to(r, r.node(slot), MessageKind::LeaderAnswer);
  m.context = election.asked_term.value;
  m.flags = r.is_leader() && election.asked_term == r.hot().term ? kFlagLeads : std::uint8_t{0};
  r.push(m);
  return true;
}

template <typename Row>
GCOORD_HD inline SlotMask replies_owed(const Row& r) {
  const Election& election = r.election();
  return static_cast<SlotMask>(election.vote_reply | election.prevote_grant |
                               election.prevote_reject | election.append_reject | election.answer);
}

// At most one reply per peer; the rest waits for the next turn.
template <typename Row>
GCOORD_HD inline void emit_reply(const Row& r,
                                 std::uint32_t slot,
                                 const PeerLiveness& peer,
                                 bool storage_moved) {
  if (r.node(slot) == r.hot().leader && emit_append_reply(r, peer, storage_moved)) {
    r.out.want_again(has_slot(replies_owed(r), slot));
    return;
  }
  if (!has_slot(replies_owed(r), slot) || !has_credit(r, peer)) {
    return;
  }
  if (emit_vote_reply(r, slot) || emit_pre_vote_reply(r, slot) || emit_answer(r, slot)) {
    r.out.want_again((replies_owed(r) & slot_bit(slot) & ~r.election().vote_reply) != 0);
  }
}

// A requester outside the configuration: a candidate of a newer one, or a leader that is no member
// by ours.
template <typename Row>
GCOORD_HD inline void emit_guest(const Row& r, bool storage_moved) {
  Election& election = r.election();
  const NodeId leader = r.hot().leader;
  if (leader.value != 0 && !r.is_leader() && slot_named(r, leader) == kSlotNone) {
    if (r.leaves_plain()) {
      return;
    }
    const Found<PeerLiveness> peer = find_peer(r.input, leader);
    if (peer.found() && emit_append_reply(r, *peer, storage_moved)) {
      return;
    }
  }
  if (election.guest_kind == 0) {
    return;
  }
  const auto kind = static_cast<MessageKind>(election.guest_kind);
  Message m = message_to(r, election.guest, kind);
  m.flags = election.guest_flags;
  if (kind == MessageKind::VoteReply || kind == MessageKind::PreVoteReply) {
    add_commit(r, m);
  }
  if (kind == MessageKind::VoteReply) {
    const bool granted = r.hot().vote == election.guest;
    if (granted && !hard_state_durable(r)) {
      return;
    }
    m.flags = granted ? std::uint8_t{0} : kFlagReject;
  } else if (kind == MessageKind::PreVoteReply && m.flags == 0) {
    m.term = election.prevote_term;
  } else if (kind == MessageKind::LeaderAnswer) {
    m.context = election.asked_term.value;
  }
  election.guest = NodeId{};
  election.guest_kind = 0;
  election.guest_flags = 0;
  r.push(m);
}

// What a steady follower owes: an acknowledgement to its leader, or nothing.
template <typename Row>
GCOORD_HD inline void emit_to_leader(const Row& r, bool storage_moved) {
  const Found<PeerLiveness> peer = peer_named(r, r.hot().leader);
  if (!peer.found() | ((r.hot().flags & kRowQueryLeader) != 0)) {
    r.leaves_steady();
    return;
  }
  static_cast<void>(emit_append_reply(r, *peer, storage_moved));
}

// What a row owes its peers and a guest. A plain row owes no guest anything.
template <typename Row>
GCOORD_HD inline void emit_to_peers(const Row& r, bool storage_moved, SlotMask behind) {
  if constexpr (Row::kScope == StepScope::Steady) {
    if (!r.is_leader()) {
      return emit_to_leader(r, storage_moved);
    }
  }
  for_each_peer<Row::kEmitUnroll>(
      r, [&r, storage_moved, behind](std::uint32_t slot, const PeerLiveness& peer) {
        emit_request(r, slot, peer, behind);
        emit_reply(r, slot, peer, storage_moved);
      });
  emit_guest(r, storage_moved);
}

// --- All of it
// --------------------------------------------------------------------------------------------------

template <typename Row>
GCOORD_HD inline void emit(const Row& r, const InboxHead& in, SlotMask behind) {
  r.hot().flags = static_cast<std::uint8_t>(r.hot().flags & ~kRowStalled);
  emit_storage(r);
  const bool storage_moved = store_at_once(r) || in.storage_ack.present != 0;
  emit_to_peers(r, storage_moved, behind);
  emit_apply(r);
  r.out.want_again((r.hot().flags & kRowStalled) != 0);
}

}  // namespace gcoord::consensus
