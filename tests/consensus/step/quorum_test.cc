#include "consensus/step/quorum.h"

#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::consensus {
namespace {

// The definitions, as slowly as they are written in the papers.

std::uint32_t naive_weight(const Configuration& configuration, SlotMask mask) {
  std::uint32_t weight = 0;
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(mask, slot)) {
      weight += configuration.weight[slot];
    }
  }
  return weight;
}

bool naive_half(const Configuration& configuration, SlotMask half, SlotMask agreed) {
  const auto inside = static_cast<SlotMask>(half & agreed);
  return half == 0 || 2 * naive_weight(configuration, inside) > naive_weight(configuration, half);
}

bool naive_quorum(const Configuration& configuration, SlotMask agreed) {
  return configuration.voters != 0 && naive_half(configuration, configuration.voters, agreed) &&
         naive_half(configuration, configuration.voters_outgoing, agreed);
}

// Won if the granted votes suffice, lost if no way of filling in the open ones does.
VoteResult naive_vote(const Configuration& configuration, SlotMask granted, SlotMask rejected) {
  if (naive_quorum(configuration, granted)) {
    return VoteResult::Won;
  }
  for (std::uint32_t more = 0; more < 1u << kReplicaSlots; ++more) {
    const auto open = static_cast<SlotMask>(more & ~rejected);
    if (naive_quorum(configuration, static_cast<SlotMask>(granted | open))) {
      return VoteResult::Pending;
    }
  }
  return VoteResult::Lost;
}

std::uint64_t naive_reached(const Configuration& configuration,
                            const std::uint64_t (&acknowledged)[kReplicaSlots]) {
  std::uint64_t best = 0;
  for (const std::uint64_t value : acknowledged) {
    SlotMask reached = 0;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      if (acknowledged[slot] >= value) {
        reached = static_cast<SlotMask>(reached | slot_bit(slot));
      }
    }
    best = naive_quorum(configuration, reached) ? std::max(best, value) : best;
  }
  return best;
}

RC_GTEST_PROP(Quorum, VoteResultIsWhatEnumerationSays, ()) {
  const Configuration configuration = any_configuration();
  const SlotMask granted = any_mask();
  const auto rejected = static_cast<SlotMask>(any_mask() & ~granted);
  RC_ASSERT(vote_result(configuration, granted, rejected) ==
            naive_vote(configuration, granted, rejected));
}

RC_GTEST_PROP(Quorum, ReachedIsTheLargestValueOfAQuorum, ()) {
  const Configuration configuration = any_configuration();
  std::uint64_t acknowledged[kReplicaSlots];
  for (std::uint64_t& value : acknowledged) {
    value = any_from<std::uint64_t>(0, 5);
  }
  RC_ASSERT(quorum_reached(configuration, acknowledged) ==
            naive_reached(configuration, acknowledged));
  RC_ASSERT(committed_index(configuration, acknowledged).value ==
            naive_reached(configuration, acknowledged));
}

RC_GTEST_PROP(Quorum, AnyTwoQuorumsMeet, ()) {
  const Configuration configuration = any_configuration();
  const SlotMask one = any_mask();
  RC_ASSERT(!is_quorum(configuration, one) ||
            !is_quorum(configuration, static_cast<SlotMask>(~one)));
}

RC_GTEST_PROP(Quorum, MoreVotesNeverHurt, ()) {
  const Configuration configuration = any_configuration();
  const SlotMask granted = any_mask();
  const auto more = static_cast<SlotMask>(granted | any_mask());
  RC_ASSERT(!is_quorum(configuration, granted) || is_quorum(configuration, more));
}

RC_GTEST_PROP(Quorum, LearnersCountForNothing, ()) {
  const Configuration configuration = any_configuration();
  const SlotMask granted = any_mask();
  const auto voters = static_cast<SlotMask>(granted & configuration.voters_either());
  RC_ASSERT(vote_result(configuration, granted, 0) == vote_result(configuration, voters, 0));
}

RC_GTEST_PROP(Quorum, MeetingIsWhatEnumerationOfPairsSays, ()) {
  const Configuration before = any_configuration();
  Configuration after = any_configuration();
  bool disjoint = false;
  for (std::uint32_t one = 0; one < 1u << kReplicaSlots; ++one) {
    for (std::uint32_t other = 0; other < 1u << kReplicaSlots && !disjoint; ++other) {
      disjoint = (one & other) == 0 && naive_quorum(before, static_cast<SlotMask>(one)) &&
                 naive_quorum(after, static_cast<SlotMask>(other));
    }
  }
  RC_ASSERT(quorums_meet(before, after) == !disjoint);
}

// The short way of quorums_meet gives the answer of the long one.
TEST(Quorum, OneEqualVoterMayComeOrGo) {
  for (std::uint32_t mask = 1; mask < 1u << kReplicaSlots; ++mask) {
    Configuration before;
    before.voters = static_cast<SlotMask>(mask);
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      before.node[slot] = NodeId{slot + 1};
      before.weight[slot] = 3;
    }
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      Configuration after = before;
      after.voters = static_cast<SlotMask>(before.voters ^ slot_bit(slot));
      if (after.voters == 0) {
        continue;
      }
      EXPECT_TRUE(one_equal_voter_changes(before, after));
      bool disjoint = false;
      for (std::uint32_t one = 0; one < 1u << kReplicaSlots; ++one) {
        disjoint |= is_quorum(before, static_cast<SlotMask>(one)) &&
                    is_quorum(after, static_cast<SlotMask>(~one));
      }
      EXPECT_FALSE(disjoint);
      after.weight[slot] = 4;  // A voter that weighs more takes the long way.
      EXPECT_EQ(one_equal_voter_changes(before, after), !has_slot(after.voters, slot));
    }
  }
}

TEST(Quorum, OfNoVotersIsNeverWon) {
  EXPECT_EQ(vote_result(Configuration{}, 0xff, 0), VoteResult::Lost);
  const std::uint64_t acknowledged[kReplicaSlots] = {9, 9, 9, 9, 9, 9, 9, 9};
  EXPECT_EQ(quorum_reached(Configuration{}, acknowledged), 0u);
}

TEST(Quorum, OfTheHeaviestNodeIsItself) {
  Configuration configuration;
  configuration.voters = 0b111;
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = slot == 0 ? 3 : 1;
  }
  EXPECT_TRUE(is_quorum(configuration, 0b001));
  EXPECT_FALSE(is_quorum(configuration, 0b110));
  EXPECT_EQ(vote_result(configuration, 0b110, 0b001), VoteResult::Lost);
}

}  // namespace
}  // namespace gcoord::consensus
