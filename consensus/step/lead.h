// Leader's part of the step: progress of followers, commit, leases, read rounds, proposals and
// transfer.
#pragma once

#include "consensus/step/votes.h"

namespace gcoord::consensus {

// Whether an entry of the leader's own term is committed: only then does it know every earlier
// decision.
template <typename Row>
GCOORD_HD inline bool own_term_committed(const Row& r) {
  return r.term_at(r.log().commit) == r.hot().term;
}

// A leader is mute while its log has no room for its own term: more undecided terms than LogRuns
// holds. It may not count an entry of an earlier term as decided because a majority has it (Raft
// section 5.4.2), but it may once *every* voter has it: then no candidate is without it. That makes
// room, and the leader opens its term.
template <typename Row>
GCOORD_HD inline bool mute(const Row& r) {
  if constexpr (Row::kIsPlain) {
    return false;  // plain_log
  } else {
    return last_term(r.log(), r.runs()) != r.hot().term;
  }
}

// The commit index that match indices allow, own-term rule apart: of equal voters, the one in the
// middle.
template <typename Row>
GCOORD_HD inline LogIndex quorum_index(const Row& r, const std::uint64_t (&match)[kReplicaSlots]) {
  if constexpr (Row::kIsPlain && Row::kVoters != 3) {
    return LogIndex{equal_voters_reached<Row::kVoters>(match)};
  } else if constexpr (Row::kIsPlain) {
    const LogIndex a{match[0]};
    const LogIndex b{match[1]};
    return max_id(min_id(a, b), min_id(max_id(a, b), LogIndex{match[2]}));
  } else {
    return committed_index(r.configuration(), match);
  }
}

template <typename Row>
GCOORD_HD inline LogIndex unanimous_index(const Row& r,
                                          const std::uint64_t (&match)[kReplicaSlots]) {
  LogIndex least = r.log().last;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(r.configuration().voters_either(), slot)) {
      least = min_id(least, LogIndex{match[slot]});
    }
  }
  return least;
}

// Advances the commit index as far as the voters' durable logs allow (Raft figure 2,
// section 5.4.2).
template <typename Row>
GCOORD_HD inline void advance_commit(const Row& r) {
  Log& log = r.log();
  const bool unanimous = mute(r);
  std::uint64_t match[kReplicaSlots] = {};
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    Progress& progress = r.progress(slot);
    progress.match = r.is_self(slot) ? r.storage().durable : progress.match;
    // Everybody's log, or a quorum of those whose word counts.
    match[slot] = unanimous || counts(r, slot) ? progress.match.value : 0;
  }
  LogIndex reached = min_id(quorum_index(r, match), log.last);
  if (unanimous) {
    reached = unanimous_index(r, match);
  } else if (r.term_at(reached) != r.hot().term) {
    return;
  }
  if (reached > log.commit) {
    log.commit = reached;
    outdate_progress(r, kProgressSent | kProgressKnowsCommit);
  }
}

// The leader's lease: an election timeout, less the drift margin, from the oldest send tick that a
// quorum acknowledged. None while a transfer or a configuration change is under way.
template <typename Row>
GCOORD_HD inline Tick lease_end(const Row& r) {
  const Election& election = r.election();
  const bool unsettled =
      election.transfer_target != kSlotNone || r.log().configuration_pending > r.log().applied;
  if (!r.is_leader() || unsettled || !own_term_committed(r)) {
    return Tick{};
  }
  std::uint64_t acked[kReplicaSlots] = {};
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    const Found<PeerLiveness> peer = peer_at(r, slot);
    // A peer without the newest configuration in its log may not take us for a voter: it promises
    // nothing yet (trusts_leader).
    const bool informed = r.progress(slot).match >= r.log().configuration_pending;
    if (peer.found() && acknowledged(r, slot, *peer) && informed && counts(r, slot)) {
      acked[slot] = peer->acked_send.value;
    }
    acked[slot] = r.is_self(slot) ? r.input.tick.value : acked[slot];
  }
  const Tick base{quorum_reached(r.configuration(), acked)};
  if (base.value == 0) {
    return Tick{};
  }
  return base + (r.input.timing.election_ticks - r.input.timing.lease_margin_ticks);
}

// A rejected probe: look where the follower's hint and our own terms first can agree.
template <typename Row>
GCOORD_HD inline void back_off(const Row& r, Progress& progress, const Message& m) {
  const bool stale = progress.state == ProgressState::Replicate ? m.index <= progress.match
                                                                : progress.next != m.index + 1;
  if (stale || progress.state == ProgressState::Snapshot) {
    return;
  }
  const LogIndex hint = conflict_hint(r.log(), r.runs(), LogIndex{m.entry_term}, m.log_term);
  progress.next = max_id(min_id(m.index, hint + 1), progress.match + 1);
  progress.state = ProgressState::Probe;
  progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
}

// An accepted Append or Snapshot: the follower has everything up to m.index on stable storage.
template <typename Row>
GCOORD_HD inline void move_on(const Row& r, Progress& progress, const Message& m) {
  progress.match = max_id(progress.match, m.index);
  progress.next = max_id(progress.next, progress.match + 1);
  const bool reachable = progress.match >= r.log().floor;
  if (progress.state != ProgressState::Replicate && reachable) {
    progress.state = ProgressState::Replicate;
    progress.next = progress.match + 1;
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
  }
}

// Whether the peer that answered remembers what it promised.
GCOORD_HD inline void note_memory(Progress& progress, const Message& m) {
  const bool forgetful = (m.flags & kFlagForgetful) != 0;
  const auto others = static_cast<std::uint8_t>(progress.flags & ~kProgressForgetful);
  progress.flags = forgetful ? static_cast<std::uint8_t>(others | kProgressForgetful) : others;
}

// The slot's follower answered an Append or a Snapshot of this term.
template <typename Row>
GCOORD_HD inline void take_append_reply(const Row& r,
                                        const Message& m,
                                        std::uint8_t slot,
                                        Progress& progress) {
  progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressHeard);
  if ((m.flags & kFlagReject) != 0) {
    back_off(r, progress, m);
  } else if (m.index > r.log().last) {
    ++r.out.dropped;  // Nobody can have more than the leader sent.
    return;
  } else {
    const Found<PeerLiveness> peer = peer_named(r, m.from);
    const Tick heard{m.entry_term};
    if (lives_can_end(r.input) && (!peer.found() || !of_present_session(*peer, heard))) {
      return;  // Perhaps of a life that is over, and what it had went with it.
    }
    if (peer.found()) {
      const bool promised = of_session(*peer, heard) & (heard > r.election().transfer_expires);
      progress.acked_session = promised ? peer->session : progress.acked_session;
    }
    note_memory(progress, m);
    move_on(r, progress, m);
  }
  const std::uint8_t knows = m.commit >= r.log().commit ? kProgressKnowsCommit : std::uint8_t{0};
  progress.flags = static_cast<std::uint8_t>(progress.flags | knows);
  Election& election = r.election();
  const bool counted = (m.flags & kFlagForgetful) == 0;
  if (election.read_sequence != 0 && m.context == election.read_sequence && counted) {
    election.confirmed = static_cast<SlotMask>(election.confirmed | slot_bit(slot));
  }
}

template <typename Row>
GCOORD_HD inline void on_append_reply(const Row& r, const Message& m) {
  if (m.term > r.hot().term) {
    learn_term(r, m);
    return;
  }
  const std::uint8_t slot = slot_named(r, m.from);
  if (!r.is_leader() || m.term != r.hot().term || slot == kSlotNone ||
      slot >= r.shard.slot_count()) {
    return;
  }
  Progress progress = r.load_progress(slot);
  take_append_reply(r, m, slot, progress);
  r.store_progress(slot, progress);
}

// Opens a read round, or answers at once under the lease where that is proof enough (Raft thesis,
// section 6.4). Either way it takes the place of an older open round, which is answered no more: a
// lease would not do for an owner who asked that one for a round.
template <typename Row>
GCOORD_HD inline void open_read(const Row& r, std::uint64_t sequence, ReadProof proof) {
  r.out.read_sequence = sequence;
  if (!r.is_leader()) {
    r.out.read = ReadVerdict::Lost;
    return;
  }
  Election& election = r.election();
  if (proof == ReadProof::LeaseOrRound && lease_end(r) > r.input.tick) {
    r.out.read = ReadVerdict::Ready;
    r.out.read_index = r.log().commit;
    election.read_sequence = 0;
    election.read_index = LogIndex{};
    return;
  }
  election.read_sequence = sequence;
  election.read_index = own_term_committed(r) ? r.log().commit : LogIndex{};
  election.confirmed = self_mask(r);
  outdate_progress(r, kProgressSent);
}

// Closes the open round once a quorum confirmed this leader after it was opened and the own term is
// committed.
template <typename Row>
GCOORD_HD inline void advance_read(const Row& r) {
  Election& election = r.election();
  if (election.read_sequence == 0 || !own_term_committed(r)) {
    return;
  }
  if (election.read_index.value == 0) {
    election.read_index = r.log().commit;
  }
  if (!is_quorum(r.configuration(), election.confirmed)) {
    return;
  }
  r.out.read = ReadVerdict::Ready;
  r.out.read_sequence = election.read_sequence;
  r.out.read_index = election.read_index;
  election.read_sequence = 0;
  election.read_index = LogIndex{};
}

template <typename Row>
GCOORD_HD inline void propose(const Row& r, std::uint32_t count) {
  Log& log = r.log();
  const std::uint64_t open = log.last - log.commit;
  if (!r.is_leader()) {
    r.out.proposal = ProposalVerdict::NotLeader;
  } else if (r.election().transfer_target != kSlotNone) {
    r.out.proposal = ProposalVerdict::Transferring;
  } else if (open >= r.input.limits.uncommitted_entries || mute(r)) {
    r.out.proposal = ProposalVerdict::Overloaded;
  } else {
    const std::uint64_t room = r.input.limits.uncommitted_entries - open;
    const std::uint32_t taken = count < room ? count : static_cast<std::uint32_t>(room);
    r.out.proposal = ProposalVerdict::Accepted;
    r.out.accepted = Appended{log.last + 1, taken, EntryKind::Command};
    append_entries(log, r.runs(), taken, r.hot().term);
  }
}

// One change at a time, and only by a leader that committed in its own term (Ongaro's correction of
// 2015).
template <typename Row>
GCOORD_HD inline bool may_change_configuration(const Row& r) {
  return r.is_leader() && r.election().transfer_target == kSlotNone && own_term_committed(r) &&
         r.log().configuration_pending <= r.log().applied;
}

template <typename Row>
GCOORD_HD inline void append_configuration(const Row& r) {
  append_entries(r.log(), r.runs(), 1, r.hot().term);
  r.log().configuration_pending = r.log().last;
}

// A configuration in which a peer does not vote was appended after its present life had begun:
// whatever makes it a voter behind that is meant for this life, not for one that is over.
template <typename Row>
GCOORD_HD inline void anchor_forgetful(const Row& r, const Configuration& proposed) {
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    const Found<PeerLiveness> peer = peer_at(r, slot);
    const bool silent =
        has_slot(proposed.learners, slot) && !has_slot(proposed.voters_either(), slot);
    if (peer.found() && silent && of_present_life(r, slot, *peer)) {
      r.progress(slot).flags =
          static_cast<std::uint8_t>(r.progress(slot).flags | kProgressAnchored);
    }
  }
}

template <typename Row>
GCOORD_HD inline void propose_configuration(const Row& r, const Configuration& proposed) {
  if (!r.is_leader()) {
    r.out.configuration = ProposalVerdict::NotLeader;
    return;
  }
  const bool allowed = may_change_configuration(r) && well_formed(proposed, r.shard.slot_count()) &&
                       may_follow(r.configuration(), proposed) &&
                       quorums_meet(r.configuration(), proposed);
  if (!allowed) {
    r.out.configuration = ProposalVerdict::Refused;
    return;
  }
  append_configuration(r);
  anchor_forgetful(r, proposed);
  r.out.configuration = ProposalVerdict::Accepted;
  r.out.configuration_index = r.log().last;
}

// Ends a joint configuration that is to end by itself, once it is applied.
template <typename Row>
GCOORD_HD inline void leave_joint_when_due(const Row& r) {
  const bool due = r.configuration().joint() && r.configuration().auto_leave != 0;
  if (due && may_change_configuration(r) && r.out.own_entry.count == 0 && !mute(r)) {
    append_configuration(r);
    r.out.own_entry = Appended{r.log().last, 1, EntryKind::Configuration};
  }
}

// Takes over an applied configuration. Who is no voter any more neither leads nor campaigns.
template <typename Row>
GCOORD_HD inline void apply_configuration(const Row& r, const Configuration& applied) {
  if (!well_formed(applied, r.shard.slot_count())) {
    ++r.out.dropped;
    return;
  }
  const SlotMask before = r.configuration().members();
  forget_moved_slots(r, applied);
  r.configuration() = applied;
  r.hot().self_slot = slot_of(applied, r.input.self);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    if (r.is_leader() && !has_slot(before, slot)) {
      reset_progress(r, slot);
    }
  }
  if (!is_voter(r) && r.hot().role != Role::Follower) {
    become_follower(r, r.hot().term, Cause::Removed);
  }
}

// Gives up a transfer that took too long. Voters may have let go of their promise for it, and a
// late vote may still carry it; so every one has to acknowledge this leader again, after it heard
// our clock pass the expiry: from then on it refuses such votes.
template <typename Row>
GCOORD_HD inline void abort_transfer(const Row& r) {
  r.election().transfer_target = kSlotNone;
  r.election().leader_since = r.input.tick;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    r.progress(slot).acked_session = 0;
  }
  outdate_progress(r, kProgressSent);
}

// Starts to hand leadership to a voter that is no witness; it gets the order once it has the whole
// log.
template <typename Row>
GCOORD_HD inline void start_transfer(const Row& r, NodeId to) {
  const std::uint8_t slot = slot_of(r.configuration(), to);
  const Found<PeerLiveness> peer = peer_named(r, to);
  const bool witness = peer.found() && peer->witness != 0;
  const bool possible = r.is_leader() && slot != kSlotNone && !witness &&
                        has_slot(r.configuration().voters, slot) && !r.is_self(slot) &&
                        slot < r.shard.slot_count() && counts(r, slot) &&
                        r.election().transfer_target == kSlotNone;
  if (!possible) {
    return;
  }
  r.election().transfer_target = slot;
  r.election().transfer_expires = r.input.tick + r.input.timing.election_ticks;
  r.progress(slot).flags = static_cast<std::uint8_t>(r.progress(slot).flags & ~kProgressSent);
}

}  // namespace gcoord::consensus
