// Leader's next proposal that brings its shard towards the members that the cluster wants.
//
// The target is the same for all shards of a node. What is to be done with a row follows from its
// configuration, from what it knows of its peers and from the target, so this is a question that
// any leader can ask at any time; the answer is one configuration for ConfigurationInput::Proposed,
// a voter to hand the leadership to, or nothing to do now. With a target and lives that stand still
// the answers come to an end.
//   1. A node that is missing becomes a learner, and who is not wanted stops being one.
//   2. A leader that is not to lead hands over to a voter that may and has the log.
//   3. Learners that have the log become voters and voters that are not wanted leave, all that are
//      ready in one joint step. At no time does the shard have fewer voters than it had, or than
//      the target has; so a voter that is to be replaced stays until its successor is ready.
//   4. Voters get the weights that are wanted, one after the other.
// What readmission wants comes first (readmission_plan.h). docs/adr/0108 has the reasons. Pure;
// host and device; the caller owns nothing in between.
#pragma once

#include "common/hd.h"
#include "consensus/step/next_configuration.h"
#include "consensus/step/readmission_plan.h"

namespace gcoord::consensus {

// Nodes of a target at most. Of more than kReplicaSlots learners go without a slot.
inline constexpr std::uint32_t kTargetNodesMax = 32;

// Bits of TargetNode::flags.
inline constexpr std::uint8_t kTargetVoter = 1;  // Else a learner.
inline constexpr std::uint8_t kTargetLeads = 2;  // Voter: may keep the leadership.
// Voter: takes the leadership where nobody else can, and hands it on.
inline constexpr std::uint8_t kTargetLeadsAtNeed = 4;
inline constexpr std::uint8_t kTargetJoining = 8;   // Learner: is to become more than that.
inline constexpr std::uint8_t kTargetWitness = 16;  // Has no service state, now or once it votes.
// Learner: is on its way out, and has a slot until it is; whoever joins waits for it.
inline constexpr std::uint8_t kTargetLeaves = 32;

struct TargetNode {
  NodeId node;
  std::uint8_t weight = 1;  // Voter: its votes.
  std::uint8_t flags = 0;   // kTarget*
  std::uint8_t reserved[2]{};

  friend bool operator==(const TargetNode& a, const TargetNode& b) = default;
};

// The members that every shard is to have; only the first `count` nodes are meant, each once.
struct MembersTarget {
  std::uint32_t count = 0;  // 0: there is none, and nothing is to be changed.
  std::uint32_t voter_count = 0;
  std::uint32_t joining_count = 0;
  TargetNode node[kTargetNodesMax];

  friend bool operator==(const MembersTarget& a, const MembersTarget& b) = default;
};

// Adds a node; false if there is no room.
GCOORD_HD inline bool add_target(MembersTarget& target, const TargetNode& node) {
  if (target.count == kTargetNodesMax) {
    return false;
  }
  target.node[target.count++] = node;
  target.voter_count += (node.flags & kTargetVoter) != 0 ? 1u : 0u;
  target.joining_count += (node.flags & kTargetJoining) != 0 ? 1u : 0u;
  return true;
}

GCOORD_HD inline Found<TargetNode> find_target(const MembersTarget& target, NodeId node) {
  for (std::uint32_t k = 0; k < target.count; ++k) {
    if (target.node[k].node == node) {
      return Found<TargetNode>(target.node[k]);
    }
  }
  return {};
}

enum class MembersStep : std::uint8_t {
  None = 0,
  Learners = 1,  // Learners come or go.
  Voters = 2,    // Voters come or go, or get other weights.
  Leave = 3,     // A joint configuration that somebody left open ends.
  Transfer = 4,  // The leadership goes to another voter.
};

struct MembersPlan {
  MembersStep step = MembersStep::None;
  std::uint8_t heir = kSlotNone;  // Transfer: its slot.
  Configuration configuration;    // To propose, unless None or Transfer.
};

// Slots of a row that leads, by what the target says of their nodes and by what the row knows.
struct SlotsOfTarget {
  SlotMask voters = 0;    // The target has the node as a voter,
  SlotMask learners = 0;  // as a learner,
  SlotMask joining = 0;   // of these, to become more,
  SlotMask leaving = 0;   // or to be gone;
  SlotMask leads = 0;
  SlotMask leads_at_need = 0;
  SlotMask live = 0;   // Alive both ways and not forgetful, or this replica.
  SlotMask ready = 0;  // Of these: acknowledged in their present life, and has the log.
};

// Whether a live member has the log: up to the newest configuration, and up to what is decided but
// for what one message brings. A learner that is asked for more could miss it for ever where
// entries come without a pause.
template <typename Row>
GCOORD_HD inline bool has_log(const Row& r, std::uint32_t slot) {
  const LogIndex match = r.progress(slot).match;
  return match >= r.log().configuration_pending &&
         match + r.input.limits.message_entries >= r.log().commit;
}

template <typename Row>
GCOORD_HD inline SlotsOfTarget slots_of_target(const Row& r, const MembersTarget& target) {
  SlotsOfTarget slots;
  for (std::uint32_t slot = 0; slot < r.shard.slot_count(); ++slot) {
    if (!r.is_member(slot)) {
      continue;
    }
    const SlotMask bit = slot_bit(slot);
    const auto add = [bit](SlotMask& mask, bool member) {
      mask = static_cast<SlotMask>(member ? mask | bit : mask);
    };
    const Found<TargetNode> wanted = find_target(target, r.node(slot));
    const std::uint8_t flags = wanted.found() ? wanted->flags : std::uint8_t{0};
    add(slots.voters, (flags & kTargetVoter) != 0);
    add(slots.learners, wanted.found() && (flags & kTargetVoter) == 0);
    add(slots.joining, (flags & kTargetJoining) != 0);
    add(slots.leaving, (flags & kTargetLeaves) != 0);
    add(slots.leads, (flags & kTargetLeads) != 0);
    add(slots.leads_at_need, (flags & kTargetLeadsAtNeed) != 0);
    const Found<PeerLiveness> peer = peer_at(r, slot);
    const bool live = r.is_self(slot) || (peer.found() && peer->live != 0 && counts(r, slot));
    const bool heard = r.is_self(slot) || (peer.found() && acknowledged(r, slot, *peer));
    add(slots.live, live);
    add(slots.ready, live && heard && (r.is_self(slot) || has_log(r, slot)));
  }
  return slots;
}

// A row that leads, and what it is asked for.
struct MembersQuestion {
  const StepRow& r;
  const MembersTarget& target;
  SlotsOfTarget slots;

  GCOORD_HD const Configuration& present() const { return r.configuration(); }
};

// --- Learners

// A slot that is free in both: one that is freed by an entry is not filled by it (may_follow).
GCOORD_HD inline std::uint8_t free_slot(const Configuration& a,
                                        const Configuration& b,
                                        std::uint32_t slot_count) {
  for (std::uint8_t slot = 0; slot < slot_count; ++slot) {
    if (a.node[slot].value == 0 && b.node[slot].value == 0) {
      return slot;
    }
  }
  return kSlotNone;
}

GCOORD_HD inline void drop_learner(Configuration& configuration, std::uint32_t slot) {
  configuration.learners = static_cast<SlotMask>(configuration.learners & ~slot_bit(slot));
  configuration.node[slot] = NodeId{};
  configuration.weight[slot] = 0;
}

struct MissingKind {
  std::uint8_t flags = 0;  // Those of kTargetVoter, kTargetJoining and kTargetLeaves that it has.
  bool live = false;
};

// Whether a node of the target is missing, and of the given kind.
GCOORD_HD inline bool missing(const MembersQuestion& q,
                              const TargetNode& wanted,
                              const MissingKind& kind) {
  constexpr std::uint8_t kKind = kTargetVoter | kTargetJoining | kTargetLeaves;
  if ((wanted.flags & kKind) != kind.flags || slot_of(q.present(), wanted.node) != kSlotNone) {
    return false;
  }
  const Found<PeerLiveness> peer = find_peer(q.r.input, wanted.node);
  return (peer.found() && peer->live != 0) == kind.live;
}

// Learners make room for living nodes that move: dead ones first, then those that are to stay
// learners; those that join for voters to be and for those that leave, and at last those that leave
// for voters to be. `room`: slots that are free now or are to be.
GCOORD_HD inline void make_room(const MembersQuestion& q, std::uint32_t room, Configuration& next) {
  std::uint32_t voters = 0;
  std::uint32_t joining = 0;
  std::uint32_t leaving = 0;
  for (std::uint32_t k = 0; k < q.target.count; ++k) {
    const TargetNode& node = q.target.node[k];
    voters += missing(q, node, {.flags = kTargetVoter, .live = true}) ? 1u : 0u;
    joining += missing(q, node, {.flags = kTargetJoining, .live = true}) ? 1u : 0u;
    leaving += missing(q, node, {.flags = kTargetLeaves, .live = true}) ? 1u : 0u;
  }

  struct Pass {
    SlotMask victims;
    std::uint32_t needed;
  };

  const auto staying =
      static_cast<SlotMask>(q.slots.learners & ~(q.slots.joining | q.slots.leaving));
  const Pass passes[] = {
      {static_cast<SlotMask>(~q.slots.live), voters + joining + leaving},
      {staying, voters + joining + leaving},
      {q.slots.joining, voters + leaving},
      {q.slots.leaving, voters},
  };
  for (const Pass& pass : passes) {
    const auto victims = static_cast<SlotMask>(next.learners & pass.victims);
    for (std::uint32_t slot = 0; slot < kReplicaSlots && room < pass.needed; ++slot) {
      if (has_slot(victims, slot)) {
        drop_learner(next, slot);
        ++room;
      }
    }
  }
}

GCOORD_HD inline void place_missing(const MembersQuestion& q,
                                    const MissingKind& kind,
                                    Configuration& next) {
  for (std::uint32_t k = 0; k < q.target.count; ++k) {
    const std::uint8_t slot = free_slot(next, q.present(), q.r.shard.slot_count());
    if (slot == kSlotNone) {
      return;
    }
    if (missing(q, q.target.node[k], kind)) {
      next.node[slot] = q.target.node[k].node;
      next.weight[slot] = 0;
      next.learners = static_cast<SlotMask>(next.learners | slot_bit(slot));
    }
  }
}

// The present configuration with the learners that it should have. Whether that is a change.
GCOORD_HD inline bool change_learners(const MembersQuestion& q, Configuration& next) {
  const Configuration& present = q.present();
  next = present;
  std::uint32_t room = 0;
  bool weighed = false;
  for (std::uint32_t slot = 0; slot < q.r.shard.slot_count(); ++slot) {
    const bool learner = has_slot(present.learners, slot);
    room += present.node[slot].value == 0 ? 1u : 0u;
    if (learner && !has_slot(q.slots.voters, slot) && !has_slot(q.slots.learners, slot)) {
      drop_learner(next, slot);
      ++room;
    } else if (learner && has_slot(q.slots.learners, slot) && present.weight[slot] != 0) {
      next.weight[slot] = 0;  // It was to vote again, and is not any more.
      weighed = true;
    }
  }
  make_room(q, room, next);
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    const bool live = pass == 0;
    place_missing(q, {.flags = kTargetVoter, .live = live}, next);
    place_missing(q, {.flags = kTargetLeaves, .live = live}, next);
    place_missing(q, {.flags = kTargetJoining, .live = live}, next);
    place_missing(q, {.flags = 0, .live = live}, next);
  }
  return next.learners != present.learners || weighed;
}

// --- Leadership

// A voter to hand the leadership to: one that may keep it, else, if this replica is to leave, one
// that takes it at need. Shards that had one leader spread over all that can.
GCOORD_HD inline std::uint8_t find_heir(const MembersQuestion& q) {
  const SlotMask self = self_mask(q.r);
  const auto ready =
      static_cast<SlotMask>(q.slots.ready & q.slots.voters & q.present().voters & ~self);
  auto heirs = static_cast<SlotMask>(ready & q.slots.leads);
  if (heirs == 0 && (q.slots.voters & self) == 0) {
    heirs = static_cast<SlotMask>(ready & q.slots.leads_at_need);
  }
  if (heirs == 0) {
    return kSlotNone;
  }
  const std::uint64_t word = random64(0, q.r.shard.shard().value, 0);
  std::uint32_t skip = random_below(word, count_slots(heirs));
  for (std::uint8_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(heirs, slot) && skip-- == 0) {
      return slot;
    }
  }
  return kSlotNone;
}

// --- Voters

GCOORD_HD inline void drop_voter(Configuration& configuration, std::uint32_t slot) {
  configuration.voters = static_cast<SlotMask>(configuration.voters & ~slot_bit(slot));
  configuration.node[slot] = NodeId{};
  configuration.weight[slot] = 0;
}

// Whether the living decide by it, on the way there and afterwards.
GCOORD_HD inline bool living_decide(const MembersQuestion& q, const Configuration& wanted) {
  return is_quorum(wanted, q.slots.live) &&
         is_quorum(next_configuration(q.present(), wanted), q.slots.live);
}

// Takes voters that are not wanted out of `next`, at most `count_max`, the dead first, and no
// living one that the living need. This replica leads, so it stays until it has handed over.
GCOORD_HD inline void drop_leavers(const MembersQuestion& q,
                                   std::uint32_t count_max,
                                   Configuration& next) {
  const auto leavers =
      static_cast<SlotMask>(q.present().voters & ~q.slots.voters & ~self_mask(q.r));
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    const auto of_pass =
        static_cast<SlotMask>(leavers & (pass == 0 ? ~q.slots.live : q.slots.live));
    for (std::uint32_t slot = 0; slot < kReplicaSlots && count_max != 0; ++slot) {
      if (!has_slot(of_pass, slot)) {
        continue;
      }
      Configuration less = next;
      drop_voter(less, slot);
      if (less.voters != 0 && living_decide(q, less)) {
        next = less;
        --count_max;
      }
    }
  }
}

// The simple configuration with all changes of voters that are due. Whether there are any.
GCOORD_HD inline bool change_voters(const MembersQuestion& q, Configuration& next) {
  const Configuration& present = q.present();
  next = present;
  const auto due = static_cast<SlotMask>(present.learners & q.slots.voters & q.slots.ready);
  for (std::uint32_t slot = 0; slot < q.r.shard.slot_count(); ++slot) {
    if (!has_slot(due, slot)) {
      continue;
    }
    const Found<TargetNode> wanted = find_target(q.target, present.node[slot]);
    const std::uint8_t weight = wanted.found() ? wanted->weight : std::uint8_t{1};
    next.learners = static_cast<SlotMask>(next.learners & ~slot_bit(slot));
    next.voters = static_cast<SlotMask>(next.voters | slot_bit(slot));
    next.weight[slot] = weight == 0 ? std::uint8_t{1} : weight;
  }
  const std::uint32_t before = count_slots(present.voters);
  const std::uint32_t least = before < q.target.voter_count ? before : q.target.voter_count;
  const std::uint32_t now = count_slots(next.voters);
  drop_leavers(q, now > least ? now - least : 0, next);
  return next.voters != present.voters && living_decide(q, next);
}

// --- Weights

// The present configuration with one voter's weight on its way to the wanted one, as far as every
// quorum before meets every quorum after; one vote more or less always does. Whether there is one
// that the living may change.
GCOORD_HD inline bool change_weight(const MembersQuestion& q, Configuration& next) {
  const Configuration& present = q.present();
  for (std::uint32_t slot = 0; slot < q.r.shard.slot_count(); ++slot) {
    const Found<TargetNode> wanted = find_target(q.target, present.node[slot]);
    if (!has_slot(present.voters & q.slots.voters, slot) || !wanted.found()) {
      continue;
    }
    const std::int32_t way = wanted->weight - present.weight[slot];
    for (std::int32_t part = way; part != 0; part /= 2) {
      next = present;
      next.weight[slot] = static_cast<std::uint8_t>(present.weight[slot] + part);
      if (quorums_meet(present, next) && is_quorum(next, q.slots.live)) {
        return true;
      }
    }
  }
  return false;
}

// --- All of it

// Whether the configuration is what the target wants, as far as slots go: learners without a slot
// are none of its matter while there is no free one.
GCOORD_HD inline bool as_wanted(const Configuration& configuration,
                                const MembersTarget& target,
                                std::uint32_t slot_count) {
  if (configuration.joint()) {
    return false;
  }
  SlotMask seen = 0;
  std::uint32_t without_slot = 0;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    const bool voter = (target.node[k].flags & kTargetVoter) != 0;
    const std::uint8_t slot = slot_of(configuration, target.node[k].node);
    if (slot == kSlotNone && voter) {
      return false;
    }
    without_slot += slot == kSlotNone ? 1u : 0u;
    const SlotMask half = voter ? configuration.voters : configuration.learners;
    if (slot != kSlotNone) {
      const std::uint8_t weight = voter ? target.node[k].weight : std::uint8_t{0};
      if (!has_slot(half, slot) || configuration.weight[slot] != weight) {
        return false;
      }
      seen = static_cast<SlotMask>(seen | slot_bit(slot));
    }
  }
  const bool room = free_slot(configuration, configuration, slot_count) != kSlotNone;
  return seen == configuration.members() && (without_slot == 0 || !room);
}

// Whether every joining node that lives is a member of the row that has the log. One for which
// there is no slot waits for those before it: it is not asked for, unless one that leaves has the
// slot. If that one went first, it would hear of nothing that is decided in this row any more; and
// it may lead others.
GCOORD_HD inline bool joiners_ready(ShardRef shard,
                                    const StepInput& input,
                                    const MembersTarget& target) {
  OutboxHead unused;
  const StepArrays none;
  const StepRow r{shard, input, unused, none};
  const SlotsOfTarget slots = slots_of_target(r, target);
  const bool room =
      free_slot(r.configuration(), r.configuration(), shard.slot_count()) != kSlotNone;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    if ((target.node[k].flags & kTargetJoining) == 0) {
      continue;
    }
    const std::uint8_t slot = slot_of(r.configuration(), target.node[k].node);
    const Found<PeerLiveness> peer = find_peer(input, target.node[k].node);
    const bool lives = peer.found() && peer->live != 0;
    const bool waits = !room && slots.leaving == 0;
    const bool ready = slot == kSlotNone ? waits : has_slot(slots.ready, slot);
    if (lives && !ready) {
      return false;
    }
  }
  return true;
}

// Whether a learner that is to become more is alive and on its way to the log.
GCOORD_HD inline bool learners_catch_up(ShardRef shard,
                                        const StepInput& input,
                                        const MembersTarget& target) {
  OutboxHead unused;
  const StepArrays none;
  const StepRow r{shard, input, unused, none};
  const SlotsOfTarget slots = slots_of_target(r, target);
  return (r.configuration().learners & (slots.voters | slots.joining) & slots.live &
          ~slots.ready) != 0;
}

// What to do with the row now. None too while a change or a transfer is under way.
GCOORD_HD inline MembersPlan plan_members(ShardRef shard,
                                          const StepInput& input,
                                          const MembersTarget& target) {
  OutboxHead unused;
  const StepArrays none;
  const StepRow r{shard, input, unused, none};
  MembersPlan plan;
  if (target.voter_count == 0 || !may_change_configuration(r)) {
    return plan;
  }
  if (r.configuration().joint()) {
    // One that ends by itself does so as soon as it may.
    plan.step = r.configuration().auto_leave == 0 ? MembersStep::Leave : MembersStep::None;
    plan.configuration = leave_joint(r.configuration());
    return plan;
  }
  const MembersQuestion q{r, target, slots_of_target(r, target)};
  if (!is_quorum(q.present(), q.slots.live) ||
      plan_readmission(shard, input).step != ReadmissionStep::None) {
    return plan;
  }
  if (change_learners(q, plan.configuration)) {
    plan.step = MembersStep::Learners;
    return plan;
  }
  if ((q.slots.leads & self_mask(r)) == 0) {
    plan.heir = find_heir(q);
    if (plan.heir != kSlotNone) {
      plan.step = MembersStep::Transfer;
      return plan;
    }
  }
  if (change_voters(q, plan.configuration)) {
    plan.step = MembersStep::Voters;
    plan.configuration = next_configuration(q.present(), plan.configuration);
  } else if (change_weight(q, plan.configuration)) {
    plan.step = MembersStep::Voters;
  }
  return plan;
}

}  // namespace gcoord::consensus
