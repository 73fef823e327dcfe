// The only places where a role, a term or the recorded leader changes.
#pragma once

#include "consensus/step/step_row.h"

namespace gcoord::consensus {

// Marks what the peers were sent as outdated: the commit index, the log or the read round moved on.
// A probe under way stays alone until it is answered.
template <typename Row>
GCOORD_HD inline void outdate_progress(const Row& r, std::uint8_t flags) {
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    Progress& progress = r.progress(slot);
    const bool probing = progress.state != ProgressState::Replicate;
    const std::uint8_t kept = probing ? static_cast<std::uint8_t>(flags & ~kProgressSent) : flags;
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kept);
  }
}

// Ends leadership: announces it to the peers and gives up reads and transfer.
template <typename Row>
GCOORD_HD inline void end_leadership(const Row& r) {
  Election& election = r.election();
  election.resigned_term = r.hot().term;
  election.confirmed = self_mask(r);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    r.progress(slot).flags = 0;
  }
  election.transfer_target = kSlotNone;
  if (election.read_sequence != 0) {
    r.out.read = ReadVerdict::Lost;
    r.out.read_sequence = election.read_sequence;
  }
  election.read_sequence = 0;
  election.read_index = LogIndex{};
}

// To follower of nobody at `term`, which is the present one or a higher one.
template <typename Row>
GCOORD_HD inline void become_follower(const Row& r, Term term, Cause cause) {
  if (r.leaves_plain()) {
    return;
  }
  Hot& hot = r.hot();
  GCOORD_ASSERT(term >= hot.term);
  if (hot.role == Role::Leader) {
    end_leadership(r);
  }
  if (hot.role != Role::Follower || term != hot.term) {
    r.out.cause = cause;
  }
  if (term != hot.term) {
    hot.term = term;
    hot.vote = NodeId{};
    hot.flags = static_cast<std::uint8_t>(hot.flags & ~kRowLeaderGone);
    r.log().verified = LogIndex{};
    r.election().prevote_grant = 0;
  }
  hot.role = Role::Follower;
  hot.leader = NodeId{};
  hot.leader_incarnation = Incarnation{};
  hot.flags = static_cast<std::uint8_t>(
      hot.flags & ~(kRowAppendReply | kRowAppendReject | kRowTransferVote | kRowQueryLeader));
  hot.deadline = kTickNever;
  r.election().granted = 0;
  r.election().rejected = 0;
  r.election().transfer_expires = Tick{};
}

// Accepts the sender of an Append or Snapshot of the present term as leader, in its node's present
// incarnation.
template <typename Row>
GCOORD_HD inline void record_leader(const Row& r, NodeId leader) {
  Hot& hot = r.hot();
  GCOORD_ASSERT(hot.role != Role::Leader);
  const Found<PeerLiveness> peer = peer_named(r, leader);
  const Incarnation incarnation = !peer.found() ? Incarnation{} : peer->incarnation;
  if (hot.role == Role::Follower && hot.leader == leader && hot.leader_incarnation == incarnation) {
    return;
  }
  if (r.leaves_plain()) {
    return;
  }
  if (hot.leader != leader) {
    r.out.cause = Cause::LeaderKnown;
  }
  hot.role = Role::Follower;
  hot.leader = leader;
  hot.leader_incarnation = incarnation;
  hot.deadline = kTickNever;
  hot.flags = static_cast<std::uint8_t>(hot.flags & ~kRowTransferVote);
  r.election().granted = 0;
  r.election().rejected = 0;
  r.election().transfer_expires = Tick{};
  r.election().campaign_count = 0;
  r.election().resigned_term = Term{};  // The peers follow somebody, or will be told by it.
}

// The leader of the present term said that it does not lead any more. It is not trusted again in
// this term, even if an older Append of it arrives late.
template <typename Row>
GCOORD_HD inline void clear_leader(const Row& r) {
  Hot& hot = r.hot();
  GCOORD_ASSERT(hot.role == Role::Follower);
  if ((hot.flags & kRowLeaderGone) != 0) {
    return;
  }
  hot.flags = static_cast<std::uint8_t>(hot.flags | kRowLeaderGone);
  hot.leader = NodeId{};
  hot.leader_incarnation = Incarnation{};
  hot.deadline = first_campaign(r);
  r.out.cause = Cause::Resigned;
}

template <typename Row>
GCOORD_HD inline void begin_campaign(const Row& r, Role role, Cause cause) {
  Hot& hot = r.hot();
  Election& election = r.election();
  hot.role = role;
  hot.leader = NodeId{};
  hot.leader_incarnation = Incarnation{};
  hot.deadline = next_campaign(r);
  election.granted = 0;
  election.rejected = 0;
  election.resigned_term = Term{};  // Who refuses to vote will ask whether we still lead.
  election.campaign_count =
      election.campaign_count == 255 ? 255 : static_cast<std::uint8_t>(election.campaign_count + 1);
  r.out.cause = cause;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    r.progress(slot).flags = 0;
  }
}

// Asks whether an election could be won, without disturbing anybody (Raft thesis, section 9.6).
template <typename Row>
GCOORD_HD inline void become_pre_candidate(const Row& r, Cause cause) {
  begin_campaign(r, Role::PreCandidate, cause);
  r.election().granted = self_mask(r);
}

// Starts an election in the next term. The own vote counts once it is durable.
template <typename Row>
GCOORD_HD inline void become_candidate(const Row& r, Cause cause) {
  Hot& hot = r.hot();
  GCOORD_ASSERT(hot.self_slot != kSlotNone);
  begin_campaign(r, Role::Candidate, cause);
  ++hot.term;
  hot.vote = r.input.self;
  hot.flags = static_cast<std::uint8_t>(hot.flags & ~kRowLeaderGone);
  r.log().verified = LogIndex{};
  r.election().prevote_grant = 0;
}

// Appends the entry that opens the leader's term, if the log has room for one more term; entries of
// earlier terms commit only below it (Raft section 5.4.2).
template <typename Row>
GCOORD_HD inline void append_noop(const Row& r) {
  Log& log = r.log();
  if (has_room(log, r.runs(), r.hot().term)) {
    append_entries(log, r.runs(), 1, r.hot().term);
    r.out.own_entry = Appended{log.last, 1, EntryKind::Noop};
  }
}

// A free slot stays empty: whoever takes it later is reset then (apply_configuration).
template <typename Row>
GCOORD_HD inline void reset_progress(const Row& r, std::uint32_t slot) {
  r.progress(slot) = Progress{};
  if (r.is_member(slot)) {
    r.progress(slot).next = r.log().last + 1;
  }
}

// A slot that has another node now, or none, means nobody that it meant before: votes,
// confirmations and replies that were of that one end with it.
template <typename Row>
GCOORD_HD inline void forget_moved_slots(const Row& r, const Configuration& applied) {
  SlotMask same = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool kept = r.configuration().node[slot] == applied.node[slot];
    same = static_cast<SlotMask>(kept ? same | slot_bit(slot) : same);
  }
  Election& election = r.election();
  election.granted = static_cast<SlotMask>(election.granted & same);
  election.rejected = static_cast<SlotMask>(election.rejected & same);
  election.vote_reply = static_cast<SlotMask>(election.vote_reply & same);
  election.prevote_grant = static_cast<SlotMask>(election.prevote_grant & same);
  election.prevote_reject = static_cast<SlotMask>(election.prevote_reject & same);
  election.append_reject = static_cast<SlotMask>(election.append_reject & same);
  election.answer = static_cast<SlotMask>(election.answer & same);
  election.confirmed = static_cast<SlotMask>(election.confirmed & same);
}

template <typename Row>
GCOORD_HD inline void become_leader(const Row& r) {
  Hot& hot = r.hot();
  Election& election = r.election();
  GCOORD_ASSERT(hot.role == Role::Candidate);
  GCOORD_ASSERT(hard_state_durable(r));
  hot.role = Role::Leader;
  hot.leader = r.input.self;
  hot.flags = static_cast<std::uint8_t>(hot.flags &
                                        ~(kRowTransferVote | kRowAppendReply | kRowAppendReject));
  hot.deadline = kTickNever;
  election.leader_since = r.input.tick;
  election.transfer_expires = Tick{};
  election.transfer_target = kSlotNone;
  election.resigned_term = Term{};
  election.read_sequence = 0;
  election.read_index = LogIndex{};
  election.campaign_count = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    reset_progress(r, slot);
  }
  r.out.cause = Cause::Elected;
  append_noop(r);
}

}  // namespace gcoord::consensus
