// Timer part of the step: campaigns that are due, check-quorum, resends, transfers that time out.
#pragma once

#include "consensus/step/readmission.h"

namespace gcoord::consensus {

// Whether a live member has acknowledged this leader, has the whole log and knows the commit index,
// so that there is nothing to say to it.
template <typename Row>
GCOORD_HD inline bool caught_up(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  const Progress& progress = r.progress(slot);
  const Election& election = r.election();
  const bool read_open = election.read_sequence != 0 && !has_slot(election.confirmed, slot);
  const bool settled = acknowledged(r, slot, peer) & (progress.match == r.log().last) &
                       ((progress.flags & kProgressKnowsCommit) != 0);
  return settled && !read_open && election.transfer_target != slot && !readmission_due(r, slot);
}

// Leader: living members to whom there is something to say.
template <typename Row>
GCOORD_HD inline SlotMask members_behind(const Row& r) {
  SlotMask behind = 0;
  for_each_peer(r, [&r, &behind](std::uint32_t slot, const PeerLiveness& peer) {
    const bool meant = (peer.live != 0) & !caught_up(r, slot, peer);
    behind = static_cast<SlotMask>(meant ? behind | slot_bit(slot) : behind);
  });
  return behind;
}

// Sends again to whoever is behind and was not heard of since the last time. Entries in flight are
// taken as lost.
template <typename Row>
GCOORD_HD inline void resend(const Row& r) {
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    Progress& progress = r.progress(slot);
    const Found<PeerLiveness> peer = peer_at(r, slot);
    if (!peer.found() || caught_up(r, slot, *peer)) {
      continue;
    }
    const bool heard = (progress.flags & kProgressHeard) != 0;
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressHeard);
    if (heard && progress.next > progress.match + 1) {
      continue;  // Slow, not lost.
    }
    progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
    if (progress.state == ProgressState::Replicate && progress.next > progress.match + 1) {
      progress.state = ProgressState::Probe;
      progress.next = progress.match + 1;
    }
  }
}

template <typename Row>
GCOORD_HD inline void leader_timers(const Row& r) {
  Election& election = r.election();
  if (!quorum_bound(r)) {
    become_follower(r, r.hot().term, Cause::CheckQuorum);
    return;
  }
  if (election.transfer_target != kSlotNone && r.input.tick > election.transfer_expires) {
    abort_transfer(r);
  }
  if (r.hot().deadline <= r.input.tick && !r.leaves_steady()) {
    resend(r);
    r.hot().deadline = kTickNever;
  }
}

// When a voter campaigns if the node of its leader stays silent. A node counts as lost a drift
// margin before the promise to it ends, and nothing wakes the row a second time.
template <typename Row>
GCOORD_HD inline Tick trust_ends(const Row& r) {
  const Found<PeerLiveness> leader = peer_named(r, r.hot().leader);
  if (!may_lead(r) || !leader.found() || leader->live != 0) {
    return kTickNever;
  }
  if (r.leaves_steady()) {
    return kTickNever;
  }
  const std::uint64_t silent = r.input.tick - leader->heard;
  GCOORD_ASSERT(silent < r.input.timing.election_ticks);
  return first_campaign(r) + (r.input.timing.election_ticks - silent);
}

// Timeouts between two of these at most, as a power of two: a cluster that forgot a shard for good
// is not kept busy by saying so.
inline constexpr std::uint8_t kForgetfulSpreadMax = 3;

// A replica without its memory and without a leader says that it leads nothing (on_forgetful).
template <typename Row>
GCOORD_HD inline void repeat_forgetful(const Row& r) {
  Hot& hot = r.hot();
  if (hot.deadline > r.input.tick && hot.deadline != kTickNever) {
    return;
  }
  Election& election = r.election();
  const std::uint8_t count = election.campaign_count;
  election.campaign_count =
      count < kForgetfulSpreadMax ? static_cast<std::uint8_t>(count + 1) : count;
  election.resigned_term = max_id(hot.term, Term{1});
  election.confirmed = self_mask(r);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    r.progress(slot).flags = 0;
  }
  hot.deadline = r.input.tick + (r.input.timing.election_ticks << count);
}

// A follower without a campaign timer. One keeps a clock whose leader's node is falling silent, and
// a former leader that is no voter any more: it repeats its StepDown to living peers that did not
// answer.
template <typename Row>
GCOORD_HD inline void rest(const Row& r) {
  Hot& hot = r.hot();
  if (is_forgetful(r) && r.input.first_life != 0) {
    hot.deadline = r.input.vote_after;  // Until then it has nothing to say and nothing to ask.
    return;
  }
  if (is_forgetful(r) && !trusts_leader(r)) {
    repeat_forgetful(r);
    return;
  }
  const auto untold = static_cast<SlotMask>(r.configuration().members() & ~r.election().confirmed &
                                            live_members(r));
  if (r.election().resigned_term.value == 0 || untold == 0) {
    hot.deadline = trust_ends(r);
    return;
  }
  if (hot.deadline > r.input.tick && hot.deadline != kTickNever) {
    return;
  }
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    r.progress(slot).flags = 0;
  }
  hot.deadline = r.input.tick + r.input.timing.resend_ticks;
}

template <typename Row>
GCOORD_HD inline void run_timers(const Row& r, const InboxHead& in) {
  Hot& hot = r.hot();
  if (r.is_leader()) {
    leader_timers(r);
    if (r.is_leader()) {
      return;
    }
  }
  if (in.campaign != 0 && trusts_leader(r)) {
    doubt_leader(
        r);  // The promise binds whoever asks to break it; perhaps the leader has resigned.
  } else if (in.campaign != 0 && may_campaign(r)) {
    become_pre_candidate(r, Cause::Timeout);
    return;
  }
  if (hot.role == Role::Follower && (trusts_leader(r) || !may_lead(r))) {
    rest(r);
    return;
  }
  if (r.leaves_plain()) {
    return;
  }
  if (hot.role == Role::Follower && !majority_lives(r)) {
    rest_alone(r);
    return;
  }
  if (r.election().resigned_term.value != 0) {
    r.election().campaign_count = 0;  // It counted repetitions (rest_alone).
  }
  const bool fresh = hot.role == Role::Follower && (hot.deadline == kTickNever || in.woken != 0);
  if (fresh && r.election().campaign_count == 0) {
    hot.deadline = min_id(hot.deadline, is_cold(r) ? cold_campaign(r) : first_campaign(r));
  } else if (hot.deadline == kTickNever) {
    hot.deadline = next_campaign(r);
  }
  if (hot.deadline <= r.input.tick) {
    campaign(r, Cause::Timeout);
  }
}

// The earliest tick at which a leader has to look at the shard without being called, while members
// are `behind`.
template <typename Row>
GCOORD_HD inline void set_leader_deadline(const Row& r, SlotMask behind) {
  Hot& hot = r.hot();
  if (behind != 0) {
    hot.deadline = min_id(hot.deadline, r.input.tick + r.input.timing.resend_ticks);
  }
  if (!is_quorum(r.configuration(), bound_members(r))) {
    hot.deadline = min_id(hot.deadline, r.election().leader_since + r.input.timing.election_ticks);
  }
  if (r.election().transfer_target != kSlotNone) {
    hot.deadline = min_id(hot.deadline, r.election().transfer_expires + 1);
  }
  const bool due = hot.deadline <= r.input.tick;
  hot.deadline = due ? r.input.tick + 1 : hot.deadline;
}

}  // namespace gcoord::consensus
