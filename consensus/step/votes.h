// Campaigns: pre-votes, votes and their replies (Raft section 5.2 and 5.4.1; thesis section 9.6 for
// pre-vote).
#pragma once

#include "consensus/step/transitions.h"

namespace gcoord::consensus {

// Owes a reply to a requester that is no member here. Only one at a time; a lost one is asked for
// again.
template <typename Row>
GCOORD_HD inline void owe_guest(const Row& r, NodeId guest, MessageKind kind, std::uint8_t flags) {
  r.election().guest = guest;
  r.election().guest_kind = static_cast<std::uint8_t>(kind);
  r.election().guest_flags = flags;
}

// Sets the slot's bit in an owed-replies mask, or turns to the guest's place when the sender has no
// slot.
template <typename Row>
GCOORD_HD inline void owe(
    const Row& r, SlotMask& mask, NodeId to, MessageKind kind, std::uint8_t flags) {
  const std::uint8_t slot = slot_of(r.configuration(), to);
  if (slot == kSlotNone) {
    owe_guest(r, to, kind, flags);
    return;
  }
  mask = static_cast<SlotMask>(mask | slot_bit(slot));
}

// Whether the candidate's log is at least as up to date as ours (Raft section 5.4.1).
template <typename Row>
GCOORD_HD inline bool log_up_to_date(const Row& r, const Message& m) {
  const Term own = last_term(r.log(), r.runs());
  return m.log_term > own || (m.log_term == own && m.index >= r.log().last);
}

// A vote on a leader's order passes the promise to that leader, until the order is void: when we
// heard that leader's clock beyond the expiry, the leader may hold its lease again.
template <typename Row>
GCOORD_HD inline bool transfer_valid(const Row& r, const Message& m) {
  if ((m.flags & kFlagTransfer) == 0) {
    return false;
  }
  if (r.is_leader()) {
    return r.input.tick.value <= m.context;
  }
  const Found<PeerLiveness> leader = find_peer(r.input, r.hot().leader);
  return !leader.found() || leader->peer_tick.value <= m.context;
}

// Whether a promise to a living leader forbids helping the sender of a (pre-)vote request.
template <typename Row>
GCOORD_HD inline bool refuses(const Row& r, const Message& m) {
  if (transfer_valid(r, m)) {
    return false;
  }
  if (r.is_leader()) {
    return quorum_bound(r);
  }
  return trusts_leader(r) && r.hot().leader != m.from;
}

// A refusal asks the recorded leader whether it still leads: it may have stepped down in silence.
template <typename Row>
GCOORD_HD inline void doubt_leader(const Row& r) {
  if (!r.is_leader()) {
    r.hot().flags = static_cast<std::uint8_t>(r.hot().flags | kRowQueryLeader);
  }
}

// An entry with the index and term of a decided one is that one. So even a refusal can tell a
// candidate how far its log is decided, which it needs when a configuration that is decided but not
// known to be stands between it and its election (etcd-io/raft does the same, for the same reason).
template <typename Row>
GCOORD_HD inline void learn_commit(const Row& r, const Message& m) {
  Log& log = r.log();
  const bool known = m.commit > log.commit && m.commit <= log.last && m.entry_term != 0 &&
                     r.term_at(m.commit).value == m.entry_term;
  if (!r.is_leader() && known) {
    log.commit = m.commit;
  }
}

// Who found somebody fit to lead lets it try first: two campaigns at once tend to lose both.
template <typename Row>
GCOORD_HD inline void give_way(const Row& r) {
  Hot& hot = r.hot();
  if (hot.role == Role::Follower && hot.deadline != kTickNever) {
    hot.deadline = max_id(hot.deadline, r.input.tick + r.input.timing.election_ticks / 4);
  }
}

// Who cannot help the first candidate after a start, because its own log is newer or its node is
// still silent, does not wait any longer to see whether that one gets elected (cold_campaign).
template <typename Row>
GCOORD_HD inline void go_next(const Row& r) {
  Hot& hot = r.hot();
  const bool waits = (hot.role == Role::Follower) & (r.election().campaign_count == 0);
  if (waits && is_cold(r, r.input.timing.election_ticks) && may_lead(r)) {
    hot.deadline = min_id(hot.deadline, first_campaign(r));
  }
}

// Whether the own pre-campaign goes before that of the sender. Two that ask at the same time and
// are equally fit would both win and then split the vote, which costs half an election timeout; so
// the one of the lower rank refuses and the other one withdraws. Pre-votes bind nobody, so this is
// a matter of speed only.
template <typename Row>
GCOORD_HD inline bool goes_before(const Row& r, const Message& m) {
  const std::uint8_t slot = slot_of(r.configuration(), m.from);
  const bool equally_fit = m.log_term == last_term(r.log(), r.runs()) && m.index == r.log().last;
  return r.hot().role == Role::PreCandidate && equally_fit && slot != kSlotNone &&
         ranks_before(campaign_order(r), r.hot().self_slot, slot);
}

// Gives up a pre-campaign for somebody else's; tries again when it would have anyway.
template <typename Row>
GCOORD_HD inline void withdraw(const Row& r) {
  const Tick retry = r.hot().deadline;
  become_follower(r, r.hot().term, Cause::VoteLost);
  r.hot().deadline = retry;
}

template <typename Row>
GCOORD_HD inline void on_pre_vote(const Row& r, const Message& m) {
  learn_commit(r, m);
  // Who asks for votes beyond a term it led has lost that term: it campaigned into it as a
  // candidate.
  if (r.hot().role == Role::Follower && r.hot().leader == m.from && m.term > r.hot().term) {
    clear_leader(r);
  }
  const bool refused = refuses(r, m);
  if (refused) {
    doubt_leader(r);
  }
  Election& election = r.election();
  const bool granted = !refused && m.term > r.hot().term && r.input.tick >= r.input.vote_after &&
                       !is_forgetful(r) && log_up_to_date(r, m) && !goes_before(r, m);
  if (!granted) {
    owe(r, election.prevote_reject, m.from, MessageKind::PreVoteReply, kFlagReject);
    go_next(r);
    return;
  }
  if (r.hot().role == Role::PreCandidate) {
    withdraw(r);
  }
  owe(r, election.prevote_grant, m.from, MessageKind::PreVoteReply, 0);
  election.prevote_term = m.term;
  give_way(r);
}

template <typename Row>
GCOORD_HD inline void on_vote(const Row& r, const Message& m) {
  Hot& hot = r.hot();
  Election& election = r.election();
  learn_commit(r, m);
  if (m.term < hot.term) {
    owe(r, election.vote_reply, m.from, MessageKind::VoteReply, kFlagReject);
    return;
  }
  if (refuses(r, m)) {
    doubt_leader(r);
    return;  // No reply: our term is lower, and the candidate shall not count it as a verdict on
             // its log.
  }
  if (m.term > hot.term) {
    become_follower(r, m.term, Cause::HigherTerm);
  }
  const bool free_to_vote = hot.vote == m.from || (hot.vote.value == 0 && hot.leader.value == 0);
  if (free_to_vote && r.input.tick >= r.input.vote_after && !is_forgetful(r) &&
      log_up_to_date(r, m)) {
    hot.vote = m.from;
    hot.deadline = next_campaign(r);
  }
  owe(r,
      election.vote_reply,
      m.from,
      MessageKind::VoteReply,
      hot.vote == m.from ? std::uint8_t{0} : kFlagReject);
}

template <typename Row>
GCOORD_HD inline void count_vote(const Row& r, const Message& m) {
  const std::uint8_t slot = slot_of(r.configuration(), m.from);
  if (slot == kSlotNone) {
    return;
  }
  Election& election = r.election();
  const SlotMask bit = slot_bit(slot);
  if (((election.granted | election.rejected) & bit) != 0) {
    return;  // The first verdict of a campaign stands.
  }
  if ((m.flags & kFlagReject) != 0) {
    election.rejected = static_cast<SlotMask>(election.rejected | bit);
  } else {
    election.granted = static_cast<SlotMask>(election.granted | bit);
  }
}

// A higher term in a reply ends what a candidate or a leader was at. A follower whose promise to a
// living leader stands keeps it until somebody leads in that term, or the leader itself says so:
// free in a higher term, it could help to elect another while the promise counts for a lease.
template <typename Row>
GCOORD_HD inline void learn_term(const Row& r, const Message& m) {
  if (!trusts_leader(r) || r.hot().leader == m.from) {
    become_follower(r, m.term, Cause::HigherTerm);
  }
}

template <typename Row>
GCOORD_HD inline void on_pre_vote_reply(const Row& r, const Message& m) {
  learn_commit(r, m);
  const bool rejected = (m.flags & kFlagReject) != 0;
  if (rejected && m.term > r.hot().term) {
    learn_term(r, m);
    return;
  }
  const bool current = rejected ? m.term <= r.hot().term : m.term == r.hot().term + 1;
  if (r.hot().role == Role::PreCandidate && current) {
    count_vote(r, m);
  }
}

template <typename Row>
GCOORD_HD inline void on_vote_reply(const Row& r, const Message& m) {
  learn_commit(r, m);
  if (m.term > r.hot().term) {
    learn_term(r, m);
    return;
  }
  if (r.hot().role == Role::Candidate && m.term == r.hot().term) {
    count_vote(r, m);
  }
}

// Whether a pre-vote is not won any more because those that live have refused it: of three voters
// whose leader is dead, one refusal. The dead would not answer, so that it would end half an
// election timeout later. Only where refusals are followed by another try (retry_campaign).
template <typename Row>
GCOORD_HD inline bool refused_by_living(const Row& r) {
  const Election& election = r.election();
  const bool asked = r.hot().role == Role::PreCandidate && election.rejected != 0;
  if (r.input.timing.retry_ticks == 0 || !asked) {
    return false;
  }
  const auto heard = static_cast<SlotMask>(live_members(r) | election.granted | self_mask(r));
  const auto lost =
      static_cast<SlotMask>(election.rejected | (r.configuration().members() & ~heard));
  return vote_result(r.configuration(), election.granted, lost) == VoteResult::Lost;
}

// Draws the conclusion from the votes so far. The own vote counts only once it is durable: a
// replica that led without remembering it could be elected twice in one term.
template <typename Row>
GCOORD_HD inline void tally(const Row& r) {
  Hot& hot = r.hot();
  Election& election = r.election();
  if (hot.role == Role::Candidate && hard_state_durable(r)) {
    election.granted = static_cast<SlotMask>(election.granted | self_mask(r));
  }
  const bool campaigning = hot.role == Role::PreCandidate || hot.role == Role::Candidate;
  if (!campaigning) {
    return;
  }
  const VoteResult result = vote_result(r.configuration(), election.granted, election.rejected);
  if (result == VoteResult::Lost || refused_by_living(r)) {
    const bool only_asked = hot.role == Role::PreCandidate;  // It raised no term: it may ask soon.
    const Tick retry = only_asked ? retry_campaign(r, hot.deadline) : hot.deadline;
    become_follower(r, hot.term, Cause::VoteLost);
    hot.deadline = retry;
  } else if (result == VoteResult::Won && hot.role == Role::PreCandidate) {
    become_candidate(r, Cause::Timeout);
  } else if (result == VoteResult::Won && (election.granted & self_mask(r)) != 0) {
    become_leader(r);
  }
}

// A committed configuration that is not applied yet may change who elects: wait for it.
template <typename Row>
GCOORD_HD inline bool may_campaign(const Row& r) {
  const Log& log = r.log();
  const bool unapplied_change = log.commit > log.applied && log.configuration_pending > log.applied;
  return may_lead(r) && !r.is_leader() && r.input.tick >= r.input.vote_after && !unapplied_change &&
         r.storage().snapshot_pending == 0;
}

// A former leader without a quorum says again that it does not lead: a link may work in one
// direction only, and then its peers trust it for as long as they hear its node.
template <typename Row>
GCOORD_HD inline void repeat_step_down(const Row& r) {
  if (r.election().resigned_term.value == 0) {
    return;
  }
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    Progress& progress = r.progress(slot);
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
  }
}

// Campaigns in a row, or repetitions of a StepDown to the dead, after which the pauses of a former
// leader without a majority grow no more: up to half an election timeout, 128 times doubled.
inline constexpr std::uint8_t kAloneSpreadMax = 7;

// A follower while no majority lives: it has no timer, so that a node that is alone uses no time
// for its shards. The change of liveness that ends it wakes the row (liveness.h). A former leader
// whose word did not reach everybody repeats it, ever more seldom.
template <typename Row>
GCOORD_HD inline void rest_alone(const Row& r) {
  Hot& hot = r.hot();
  Election& election = r.election();
  if (election.resigned_term.value == 0) {
    hot.deadline = kTickNever;
    election.campaign_count = 0;  // Whatever campaigns failed for, nobody was there to win them.
    return;
  }
  if (hot.deadline > r.input.tick && hot.deadline != kTickNever) {
    return;
  }
  repeat_step_down(r);
  const std::uint32_t half = r.input.timing.election_ticks / 2;
  const std::uint8_t count = election.campaign_count;
  hot.deadline = r.input.tick + (half + random_ticks(r, half << count));
  election.campaign_count =
      count < kAloneSpreadMax ? static_cast<std::uint8_t>(count + 1) : kAloneSpreadMax;
}

// Campaigns if that can end well; otherwise looks again later. A replica that never was in a term
// needs no pre-vote: its first term is 1, which deposes nobody. The others, whose turn comes when
// the first of the living has not made it, ask whether it is under way.
template <typename Row>
GCOORD_HD inline void campaign(const Row& r, Cause cause) {
  const bool majority = majority_lives(r);
  if (may_campaign(r) && majority) {
    const bool first_ever = (r.hot().term.value == 0) & (r.election().campaign_count == 0);
    first_ever&& live_rank(r, campaign_order(r)) == 0 ? become_candidate(r, cause)
                                                      : become_pre_candidate(r, cause);
    return;
  }
  if (r.hot().role != Role::Follower) {
    become_follower(r, r.hot().term, Cause::Timeout);
  }
  if (!majority) {
    rest_alone(r);
    return;
  }
  repeat_step_down(r);
  const bool silenced = r.input.tick < r.input.vote_after;
  r.hot().deadline = silenced ? first_campaign(r) : next_campaign(r);
}

// The leader's order to take over (Raft thesis, section 3.10): no pre-vote, and voters let go of
// their promise.
template <typename Row>
GCOORD_HD inline void on_timeout_now(const Row& r, const Message& m) {
  if (m.term != r.hot().term || r.hot().leader != m.from || r.is_leader() || !may_campaign(r)) {
    return;
  }
  const Found<PeerLiveness> leader = find_peer(r.input, m.from);
  if (!leader.found() || leader->peer_tick.value > m.context) {
    return;
  }
  become_candidate(r, Cause::Transfer);
  r.hot().flags = static_cast<std::uint8_t>(r.hot().flags | kRowTransferVote);
  r.election().transfer_expires = Tick{m.context};
}

// A node that restarted without its memory leads nothing, and will lead no term that it has reached
// by now. Who took a late message of its earlier life for one of this life trusts it in vain, and
// it does not campaign, so nobody else might ever doubt it. Our term, if it is ahead, lets it say
// so again where it is believed.
template <typename Row>
GCOORD_HD inline void on_forgetful(const Row& r, const Message& m) {
  const Hot& hot = r.hot();
  if (hot.role != Role::Follower || hot.leader != m.from ||
      hot.leader_incarnation.value != m.context) {
    return;
  }
  if (m.term >= hot.term) {
    clear_leader(r);
    return;
  }
  r.election().asked_term = hot.term;
  owe(r, r.election().answer, m.from, MessageKind::LeaderAnswer, 0);
}

template <typename Row>
GCOORD_HD inline void on_step_down(const Row& r, const Message& m) {
  if ((m.flags & kFlagForgetful) != 0) {
    on_forgetful(r, m);
    return;
  }
  const Term ended{m.context};
  if (ended > m.term) {
    ++r.out.dropped;
    return;
  }
  r.election().asked_term = ended;
  owe(r, r.election().answer, m.from, MessageKind::LeaderAnswer, 0);
  if (ended > r.hot().term) {
    become_follower(r, ended, Cause::HigherTerm);
  }
  if (r.hot().role == Role::Follower && ended == r.hot().term) {
    clear_leader(r);
  }
}

template <typename Row>
GCOORD_HD inline void on_leader_query(const Row& r, const Message& m) {
  r.election().asked_term = Term{m.context};
  const bool leads = r.is_leader() && r.hot().term.value == m.context;
  owe(r,
      r.election().answer,
      m.from,
      MessageKind::LeaderAnswer,
      leads ? kFlagLeads : std::uint8_t{0});
}

// A former leader hears that a peer knows it. Once all members do, the matter is closed.
template <typename Row>
GCOORD_HD inline void on_step_down_known(const Row& r, const Message& m) {
  Election& election = r.election();
  const std::uint8_t slot = slot_of(r.configuration(), m.from);
  if (election.resigned_term.value == 0 || m.context != election.resigned_term.value ||
      slot == kSlotNone) {
    return;
  }
  election.confirmed = static_cast<SlotMask>(election.confirmed | slot_bit(slot));
  if ((r.configuration().members() & ~election.confirmed) == 0) {
    election.resigned_term = Term{};
  }
}

template <typename Row>
GCOORD_HD inline void on_leader_answer(const Row& r, const Message& m) {
  on_step_down_known(r, m);
  if (m.term > r.hot().term) {
    learn_term(r, m);
    return;
  }
  const bool denies = (m.flags & kFlagLeads) == 0 && m.context == r.hot().term.value;
  if (denies && r.hot().role == Role::Follower && r.hot().leader == m.from) {
    clear_leader(r);
  }
}

}  // namespace gcoord::consensus
