// A shard on its way to the members that are wanted, for tests of members_plan.h, and values for
// it.
#pragma once

#include "consensus/device/row_copy.h"
#include "consensus/step/members_plan.h"
#include "consensus/step/recover.h"

#include <cstdint>
#include <set>
#include <vector>

namespace gcoord::consensus {

inline constexpr std::uint32_t kNodes = 12;
inline constexpr LogIndex kLast{100};

inline constexpr std::uint8_t kVoter = kTargetVoter | kTargetLeads | kTargetLeadsAtNeed;
inline constexpr std::uint8_t kDraining = kTargetVoter | kTargetLeadsAtNeed;

inline MembersTarget voters_of(const std::vector<std::uint32_t>& nodes) {
  MembersTarget target;
  for (const std::uint32_t node : nodes) {
    add_target(target, {.node = NodeId{node}, .flags = kVoter});
  }
  return target;
}

inline void add_learner(MembersTarget& target, std::uint32_t node, std::uint8_t flags = 0) {
  add_target(target, {.node = NodeId{node}, .weight = 0, .flags = flags});
}

inline Configuration voting(const std::vector<std::uint32_t>& nodes) {
  Configuration configuration;
  std::uint32_t slot = 0;
  for (const std::uint32_t node : nodes) {
    configuration.node[slot] = NodeId{node};
    configuration.weight[slot] = 1;
    configuration.voters = static_cast<SlotMask>(configuration.voters | slot_bit(slot++));
  }
  return configuration;
}

inline Configuration with_learner(Configuration configuration, std::uint32_t node) {
  const std::uint32_t slot = count_slots(configuration.members());
  configuration.node[slot] = NodeId{node};
  configuration.learners = static_cast<SlotMask>(configuration.learners | slot_bit(slot));
  return configuration;
}

// A shard whose leader has decided all of its log, and in which whoever lives has all of it. What
// is proposed is decided at once.
class Shard {
 public:
  explicit Shard(Configuration configuration, std::uint32_t leader = 1) {
    configuration_ = configuration;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      live.insert(node);
      has_log.insert(node);
    }
    lead(leader);
  }

  void lead(std::uint32_t node) { leader_ = node; }

  std::uint32_t leader() const { return leader_; }

  const Configuration& configuration() const { return configuration_; }

  bool votes(std::uint32_t node) const {
    const std::uint8_t slot = slot_of(configuration_, NodeId{node});
    return slot != kSlotNone && has_slot(configuration_.voters, slot);
  }

  bool learns(std::uint32_t node) const {
    const std::uint8_t slot = slot_of(configuration_, NodeId{node});
    return slot != kSlotNone && has_slot(configuration_.learners, slot);
  }

  ShardRef row() {
    recover(ref(),
            {.term = Term{3},
             .floor = kLast,
             .floor_term = Term{3},
             .commit = kLast,
             .configuration = configuration_},
            NodeId{leader_});
    copy_.hot.role = Role::Leader;
    copy_.log.configuration_pending = kLast;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      const std::uint32_t node = configuration_.node[slot].value;
      Progress& progress = copy_.progress[slot];
      progress.acked_session = live.contains(node) ? 5 : 4;
      progress.match = has_log.contains(node) ? kLast : LogIndex{2};
      progress.flags = forgot.contains(node) ? kProgressForgetful : std::uint8_t{0};
      if (anchored.contains(node)) {
        progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressAnchored);
      }
    }
    return ref();
  }

  const StepInput& input() {
    peers_.clear();
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      if (node != leader_) {
        peers_.push_back({.node = NodeId{node}, .incarnation = Incarnation{1}, .session = 5});
        peers_.back().live = live.contains(node) ? 1 : 0;
      }
    }
    input_.self = NodeId{leader_};
    input_.peer = peers_.data();
    input_.peer_count = static_cast<std::uint32_t>(peers_.size());
    input_.lives_end = lives_end ? 1 : 0;
    return input_;
  }

  MembersPlan plan(const MembersTarget& target) {
    const ShardRef shard = row();
    return plan_members(shard, input(), target);
  }

  ReadmissionPlan plan_back() {
    const ShardRef shard = row();
    return plan_readmission(shard, input());
  }

  bool is_ready(const MembersTarget& target) {
    const ShardRef shard = row();
    return joiners_ready(shard, input(), target);
  }

  SlotMask live_slots() const {
    SlotMask mask = 0;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      const std::uint32_t node = configuration_.node[slot].value;
      const bool counts = live.contains(node) && !forgot.contains(node);
      mask = static_cast<SlotMask>(counts ? mask | slot_bit(slot) : mask);
    }
    return mask;
  }

  bool can_decide() const { return is_quorum(configuration_, live_slots()); }

  // The living elect a voter, if the leader is none.
  void elect() {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const bool fit = votes(node) && live.contains(node) && !forgot.contains(node);
      if (fit && (!votes(leader_) || !live.contains(leader_) || forgot.contains(leader_))) {
        lead(node);
      }
    }
  }

  void decide(const Configuration& next) {
    const bool leaves = next.joint() && next.auto_leave != 0;
    configuration_ = leaves ? leave_joint(next) : next;
  }

  std::set<std::uint32_t> live;
  std::set<std::uint32_t> has_log;
  std::set<std::uint32_t> forgot;
  std::set<std::uint32_t> anchored;
  bool lives_end = false;

 private:
  ShardRef ref() { return ref_of(copy_, ShardId{7}, kReplicaSlots); }

  Configuration configuration_;
  std::uint32_t leader_ = 0;
  RowCopy copy_;
  std::vector<PeerLiveness> peers_;
  StepInput input_;
};

}  // namespace gcoord::consensus
