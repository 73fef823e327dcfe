// One row during one step, with what surrounds it, and the questions that several handlers ask
// about it.
#pragma once

#include "common/random.h"
#include "consensus/step/log_runs.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/outbox.h"
#include "consensus/step/plain_slots.h"
#include "consensus/step/quorum.h"
#include "consensus/step/shard_table.h"

namespace gcoord::consensus {

// Terms and indices beyond this cannot be true; they would overflow arithmetic and are dropped on
// sight.
inline constexpr std::uint64_t kPlausibleMax = std::uint64_t{1} << 62;

// The parts of inbox and outbox that are arrays. Whoever calls the step says where they lie: beside
// the rest on the host, in tiles and in the thread's own memory on a device, where an array that is
// indexed at run time would pull every field beside it out of the registers.
struct StepArrays {
  const Configuration* configuration = nullptr;  // Of the inbox.
  // Of the outbox: zero for every message of the inbox.
  LogIndex* stored = nullptr;
  MessageSink sink;  // The outbox's messages.
};

// How much of the protocol a step may turn out to need. The step is the same for both; it is
// compiled once more for a row that is known to be plain (plain_step.h), without what such a row
// hardly ever needs.
enum class StepScope : std::uint8_t {
  Whole = 0,
  // A leader or follower in the middle of its term. A step that needs more says so and stops; then
  // nothing it did counts, and the row takes a whole step instead.
  Plain = 1,
  // A plain row that replicates: nobody is behind for long, nothing is sent again, nobody is
  // silent. For one row in a hurry, whose code is fetched as it runs: short.
  Steady = 2,
};

// What a step keeps at hand of the names of its peers: a steady one, which asks for one of them
// again and again, all; others look them up in their input.
template <StepScope scope, std::uint32_t kVoters>
struct PeersAtHand {
  GCOORD_HD explicit PeersAtHand(const StepInput&) {}

  GCOORD_HD PlainPeers<kVoters> of(const StepInput& input) const {
    return plain_peers<kVoters>(input);
  }
};

template <std::uint32_t kVoters>
struct PeersAtHand<StepScope::Steady, kVoters> {
  GCOORD_HD explicit PeersAtHand(const StepInput& input) : kept(plain_peers<kVoters>(input)) {}

  GCOORD_HD const PlainPeers<kVoters>& of(const StepInput&) const { return kept; }

  PlainPeers<kVoters> kept;
};

// `voters`: of a plain row; a whole step looks at the row's configuration.
template <StepScope scope, std::uint32_t voters = kPlainSlots>
struct BasicStepRow {
  static constexpr StepScope kScope = scope;
  static constexpr bool kIsPlain = scope != StepScope::Whole;
  static constexpr std::uint32_t kVoters = voters;

  // What a plain step emits for one slot is short enough to stand there once per slot.
  static constexpr int kEmitUnroll = kIsPlain ? int{kReplicaSlots} : 1;

  ShardRef shard;
  const StepInput& input;
  OutboxHead& out;
  const StepArrays& arrays;
  PeersAtHand<scope, voters> at_hand{input};

  GCOORD_HD PlainPeers<voters> peers() const { return at_hand.of(input); }

  // Asked at every door out of the plain scope, before anything is changed behind it: whether to
  // turn back.
  GCOORD_HD bool leaves_plain() const {
    if constexpr (kIsPlain) {
      out.beyond_plain = 1;
    }
    return kIsPlain;
  }

  // The same at the doors out of the steady scope.
  GCOORD_HD bool leaves_steady() const {
    if constexpr (kScope == StepScope::Steady) {
      out.beyond_plain = 1;
    }
    return kScope == StepScope::Steady;
  }

  GCOORD_HD Hot& hot() const { return shard.hot(); }

  GCOORD_HD Log& log() const { return shard.log(); }

  // A plain row's log holds one term, the present one.
  GCOORD_HD decltype(auto) runs() const {
    if constexpr (kIsPlain) {
      return OneRun{hot().term};
    } else {
      return shard.runs();
    }
  }

  GCOORD_HD Storage& storage() const { return shard.storage(); }

  GCOORD_HD Election& election() const { return shard.election(); }

  GCOORD_HD Configuration& configuration() const { return shard.configuration(); }

  GCOORD_HD Progress& progress(std::uint32_t slot) const { return shard.progress(slot); }

  GCOORD_HD Term term_at(LogIndex index) const { return consensus::term_at(log(), runs(), index); }

  GCOORD_HD bool is_leader() const { return hot().role == Role::Leader; }

  GCOORD_HD bool is_self(std::uint32_t slot) const { return slot == hot().self_slot; }

  GCOORD_HD bool is_member(std::uint32_t slot) const {
    return has_slot(configuration().members(), slot);
  }

  // A steady step asks for one slot after the other.
  GCOORD_HD NodeId node(std::uint32_t slot) const {
    if constexpr (kScope == StepScope::Steady) {
      return is_self(slot) ? input.self : plain_peer<voters>(input, hot().self_slot, slot).node;
    } else {
      return configuration().node[slot];
    }
  }

  // As ShardRef's: a steady row's progress lies where it can be indexed.
  GCOORD_HD Progress load_progress(std::uint32_t slot) const {
    if constexpr (kScope == StepScope::Steady) {
      return progress(slot);
    } else {
      return shard.load_progress(slot);
    }
  }

  GCOORD_HD void store_progress(std::uint32_t slot, const Progress& stored) const {
    if constexpr (kScope == StepScope::Steady) {
      progress(slot) = stored;
    } else {
      shard.store_progress(slot, stored);
    }
  }

  // The next message of the outbox.
  GCOORD_HD void push(const Message& outgoing) const {
    arrays.sink.store(out.message_count, outgoing);
    ++out.message_count;
  }
};

using StepRow = BasicStepRow<StepScope::Whole>;

// Whether this replica votes by the configuration applied here.
template <typename Row>
GCOORD_HD inline bool is_voter(const Row& r) {
  if constexpr (Row::kIsPlain) {
    return true;  // plain_configuration, plain_order
  } else {
    return r.hot().self_slot != kSlotNone &&
           has_slot(r.configuration().voters_either(), r.hot().self_slot);
  }
}

// Whether this replica lost its promises with an earlier life and was not re-admitted since.
template <typename Row>
GCOORD_HD inline bool is_forgetful(const Row& r) {
  if constexpr (Row::kIsPlain) {
    return false;  // kPlainFlags
  } else {
    return (r.hot().flags & kRowForgetful) != 0;
  }
}

// Whether its vote means anything.
template <typename Row>
GCOORD_HD inline bool may_vote(const Row& r) {
  return is_voter(r) && !is_forgetful(r);
}

// Whether it may ever be elected. A witness votes for others: it has the log and no state to serve.
template <typename Row>
GCOORD_HD inline bool may_lead(const Row& r) {
  return may_vote(r) & (r.input.witness == 0);
}

template <typename Row>
GCOORD_HD inline SlotMask self_mask(const Row& r) {
  return r.hot().self_slot == kSlotNone ? SlotMask{0} : slot_bit(r.hot().self_slot);
}

// The liveness record of a slot's node; none for the own slot, a free one or a node that nobody
// told us about.
template <typename Row>
GCOORD_HD inline Found<PeerLiveness> peer_at(const Row& r, std::uint32_t slot) {
  if constexpr (Row::kIsPlain) {
    return r.is_self(slot)
               ? Found<PeerLiveness>{}
               : Found<PeerLiveness>(plain_peer<Row::kVoters>(r.input, r.hot().self_slot, slot));
  } else {
    return r.is_member(slot) && !r.is_self(slot) ? find_peer(r.input, r.node(slot))
                                                 : Found<PeerLiveness>{};
  }
}

// As find_peer, of the node's input.
template <typename Row>
GCOORD_HD inline Found<PeerLiveness> peer_named(const Row& r, NodeId node) {
  if constexpr (Row::kIsPlain) {
    return find_plain_peer(r.input, r.peers(), node);
  } else {
    return find_peer(r.input, node);
  }
}

// As slot_of, of the configuration applied here.
template <typename Row>
GCOORD_HD inline std::uint8_t slot_named(const Row& r, NodeId node) {
  if constexpr (Row::kIsPlain) {
    return plain_slot_of(r.input, r.peers(), r.hot().self_slot, node);
  } else {
    return slot_of(r.configuration(), node);
  }
}

// f(slot, peer) for every slot of another node that we were told about, `unroll` of them side by
// side. A steady row's peers stand in the order of their slots.
template <int unroll = int{kReplicaSlots}, typename Row, typename Function>
GCOORD_HD_FLAT void for_each_peer(const Row& r, const Function& f) {
  if constexpr (Row::kScope == StepScope::Steady) {
    GCOORD_UNROLL_BY(unroll)
    for (std::uint32_t k = 0; k + 1 < Row::kVoters; ++k) {
      f(plain_peer_slot(r.hot().self_slot, k), r.input.peer[k]);
    }
  } else {
    GCOORD_UNROLL_BY(unroll)
    for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
      const Found<PeerLiveness> peer = peer_at(r, slot);
      if (peer.found()) {
        f(slot, *peer);
      }
    }
  }
}

// Conditions below are joined without branches where all of them may be asked: on a device a
// branch costs more than they do.

// Whether a slot acknowledged this shard in this term and in the peer's present session: its
// promise stands.
template <typename Row>
GCOORD_HD inline bool acknowledged(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  return (peer.session != 0) & (r.progress(slot).acked_session == peer.session);
}

// Whether what is known of a slot was said by its node's present life.
template <typename Row>
GCOORD_HD inline bool of_present_life(const Row& r, std::uint32_t slot, const PeerLiveness& peer) {
  const std::uint32_t session = r.progress(slot).acked_session;
  return (session != 0) & (session >= peer.life_session);
}

// Leader: whether a slot's word counts in quorums; a replica without a memory gives none.
template <typename Row>
GCOORD_HD inline bool counts(const Row& r, std::uint32_t slot) {
  if constexpr (Row::kIsPlain) {
    return true;  // kPlainProgress
  } else {
    return (r.progress(slot).flags & kProgressForgetful) == 0;
  }
}

// Members whose node is alive both ways, this one included.
template <typename Row>
GCOORD_HD inline SlotMask live_members(const Row& r) {
  SlotMask mask = self_mask(r);
  for_each_peer(r, [&mask](std::uint32_t slot, const PeerLiveness& peer) {
    mask = static_cast<SlotMask>(peer.live != 0 ? mask | slot_bit(slot) : mask);
  });
  return mask;
}

// Whether so many voters live that one of them can be elected.
template <typename Row>
GCOORD_HD inline bool majority_lives(const Row& r) {
  return is_quorum(r.configuration(), live_members(r));
}

// Leader: members that are alive and bound to this leader, this one included.
template <typename Row>
GCOORD_HD inline SlotMask bound_members(const Row& r) {
  SlotMask mask = self_mask(r);
  for_each_peer(r, [&r, &mask](std::uint32_t slot, const PeerLiveness& peer) {
    const bool bound = (peer.live != 0) & acknowledged(r, slot, peer) & counts(r, slot);
    mask = static_cast<SlotMask>(bound ? mask | slot_bit(slot) : mask);
  });
  return mask;
}

// Leader: whether a quorum is bound to it. A new leader has one election timeout to reach that
// state (check-quorum, Raft thesis section 6.2).
template <typename Row>
GCOORD_HD inline bool quorum_bound(const Row& r) {
  const bool fresh = r.input.tick - r.election().leader_since < r.input.timing.election_ticks;
  return is_quorum(r.configuration(), bound_members(r)) | fresh;
}

// Whether the recorded leader stands: it is a voter, its node lives in the incarnation in which it
// was accepted, and was heard within the election timeout. While it does, this replica runs no
// timer and refuses to help others.
template <typename Row>
GCOORD_HD inline bool trusts_leader(const Row& r) {
  const Hot& hot = r.hot();
  const bool gone = (hot.flags & kRowLeaderGone) != 0;
  if ((hot.leader.value == 0) | (hot.role != Role::Follower) | gone) {
    return false;
  }
  // A configuration that is not applied yet may be the one that made it a voter (lease_end).
  const std::uint8_t slot = slot_named(r, hot.leader);
  const bool unknown_configuration =
      (r.configuration().voters == 0) | (r.log().configuration_pending > r.log().applied);
  const bool voter = slot != kSlotNone && has_slot(r.configuration().voters_either(), slot);
  const Found<PeerLiveness> peer = peer_named(r, hot.leader);
  if (!peer.found()) {
    return false;
  }
  const bool heard = heard_within(*peer, r.input.tick, r.input.timing.election_ticks);
  return (unknown_configuration | voter) & (peer->incarnation == hot.leader_incarnation) & heard;
}

// The order in which voters campaign: of their slots, rotated by shard, so that the first leaders
// are spread evenly.
struct CampaignOrder {
  std::uint32_t voter_count = 0;
  std::uint32_t first_slot = 0;
};

template <typename Row>
GCOORD_HD inline CampaignOrder campaign_order(const Row& r) {
  const std::uint32_t voters = count_slots(r.configuration().voters_either());
  return {voters, voters == 0 ? 0 : r.shard.shard().value % voters};
}

// A slot's place in it. Without a remainder, because a device divides slowly; slots are few.
GCOORD_HD inline std::uint32_t rank_of(const CampaignOrder& order, std::uint32_t slot) {
  if (order.voter_count == 0 || slot == kSlotNone) {
    return 0;
  }
  std::uint32_t rank = slot + order.voter_count - order.first_slot;
  GCOORD_UNROLL_BY(1)
  while (rank >= order.voter_count) {
    rank -= order.voter_count;
  }
  return rank;
}

// Whether slot a campaigns before slot b. Ranks collide where the configuration has holes.
GCOORD_HD inline bool ranks_before(const CampaignOrder& order, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t rank_a = rank_of(order, a);
  const std::uint32_t rank_b = rank_of(order, b);
  return rank_a < rank_b || (rank_a == rank_b && a < b);
}

// Other voters that may campaign: their nodes live, and are no witnesses.
template <typename Row>
GCOORD_HD inline SlotMask live_rivals(const Row& r) {
  SlotMask mask = 0;
  for_each_peer(r, [&mask](std::uint32_t slot, const PeerLiveness& peer) {
    const bool rival = (peer.live != 0) & (peer.witness == 0);
    mask = static_cast<SlotMask>(rival ? mask | slot_bit(slot) : mask);
  });
  return static_cast<SlotMask>(mask & r.configuration().voters_either());
}

// This replica's place in that order among its rivals, so that nobody waits for the dead.
template <typename Row>
GCOORD_HD inline std::uint32_t live_rank(const Row& r, const CampaignOrder& order) {
  const SlotMask rivals = live_rivals(r);
  std::uint32_t before = 0;
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    before += has_slot(rivals, slot) && ranks_before(order, slot, r.hot().self_slot) ? 1u : 0u;
  }
  return before;
}

template <typename Row>
GCOORD_HD inline std::uint32_t random_ticks(const Row& r, std::uint32_t bound) {
  const std::uint64_t word = random64(r.input.seed, r.shard.shard().value, r.input.tick.value);
  return bound == 0 ? 0 : random_below(word, bound);
}

// When to campaign after the leader was found lost: soon, one rank after the other. A node that has
// just restarted keeps this order after its silence.
template <typename Row>
GCOORD_HD inline Tick first_campaign(const Row& r) {
  const std::uint32_t stagger = r.input.timing.stagger_ticks;
  const Tick from = max_id(r.input.tick, r.input.vote_after);
  // The nodes of a new cluster come to life one by one; those that come last get their share, too.
  const bool first_ever = r.hot().term.value == 0;
  const CampaignOrder order = campaign_order(r);
  const std::uint32_t rank = first_ever ? rank_of(order, r.hot().self_slot) : live_rank(r, order);
  return from + (1 + rank * stagger + random_ticks(r, stagger));
}

// Whether the replica follows nobody because it has heard of no leader since its node started: it
// never was in a term, or its node's silence has been over for less than `grace_ticks`.
template <typename Row>
GCOORD_HD inline bool is_cold(const Row& r, std::uint32_t grace_ticks = 0) {
  const Hot& hot = r.hot();
  const bool led = (hot.leader.value != 0) | ((hot.flags & kRowLeaderGone) != 0);
  return !led && ((hot.term.value == 0) | (r.input.tick < r.input.vote_after + grace_ticks));
}

// When to campaign after a start. All shards need a leader then, and two campaigns for one shard
// cost as much as two shards: the first of the living voters goes soon, and the others leave it an
// election timeout. A refused pre-vote calls them earlier (votes.h, go_next).
template <typename Row>
GCOORD_HD inline Tick cold_campaign(const Row& r) {
  const bool waits = live_rank(r, campaign_order(r)) != 0;
  return first_campaign(r) + (waits ? r.input.timing.election_ticks : 0u);
}

// Campaigns in a row without a leader after which the retries are not spread any wider.
inline constexpr std::uint8_t kCampaignSpreadMax = 4;

// When to campaign again after a campaign, or after a vote for somebody else: half an election
// timeout later, plus a random time that doubles with every campaign in vain. Many shards that all
// try at once would otherwise keep each other from being heard.
template <typename Row>
GCOORD_HD inline Tick next_campaign(const Row& r) {
  const std::uint32_t half = r.input.timing.election_ticks / 2;
  const std::uint8_t count = r.election().campaign_count;
  const std::uint32_t doublings =
      count < 1 ? 0u : (count < kCampaignSpreadMax ? count : kCampaignSpreadMax) - 1u;
  const std::uint32_t rank = rank_of(campaign_order(r), r.hot().self_slot);
  return r.input.tick +
         (half + rank * r.input.timing.stagger_ticks + random_ticks(r, half << doublings));
}

// Pre-votes in a row that are sent again soon after a refusal. Doubling pauses add up to 15 to 30
// retry_ticks, beyond the interval of heartbeats, by which voters differ at most in what they heard
// last of a node that died; and so a shard sends four rounds more for each failover, not a storm.
inline constexpr std::uint8_t kSoonRetries = 4;

// When to campaign again after a pre-vote was refused at this tick, where `usual` is the pause
// without that. A voter refuses while it trusts the leader, and it may find out some ticks later
// than this one that the leader's node is silent. Spread, so that shards do not all try at once.
template <typename Row>
GCOORD_HD inline Tick retry_campaign(const Row& r, Tick usual) {
  const std::uint8_t count = r.election().campaign_count;
  const std::uint32_t ticks = r.input.timing.retry_ticks;
  if ((ticks == 0) | (count == 0) | (count > kSoonRetries)) {
    return usual;
  }
  const std::uint32_t pause = ticks << (count - 1);
  return min_id(usual, r.input.tick + (pause + random_ticks(r, pause)));
}

// Whether term and vote on stable storage are the present ones.
template <typename Row>
GCOORD_HD inline bool hard_state_durable(const Row& r) {
  return r.storage().durable_term == r.hot().term && r.storage().durable_vote == r.hot().vote;
}

}  // namespace gcoord::consensus
