// The table of leaders: what a word says, and what a host that looks at it finds and misses.
#include "server/device_turn/leader_table.h"

#include "server/resident/engine/leaders.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::Role;

// A table as its device has it: three stripes, of which the last has fewer rows, of several pages.
struct Table {
  explicit Table(std::uint32_t shard_count = 3 * 1200 - 100) {
    shape.shard_count = shard_count;
    shape.stripe_count = 3;
    table.stripe_pages = leader_pages(stripe_rows(shape));
    words.resize(shape.shard_count);
    pages.resize(shape.stripe_count * table.stripe_pages);
    table.word = words.data();
    table.page = pages.data();
  }

  void store(std::uint32_t row, const LeaderWord& word) { table.tell(row, encode(word)); }

  // As a stripe closes a turn in which it told of this row.
  void close(std::uint32_t row) {
    const std::uint32_t stripe = stripe_of(shape, ShardId{row});
    table.close(stripe, row - rows_of_stripe(shape, stripe).first, ++turns);
  }

  void tell(std::uint32_t row, const LeaderWord& word) {
    store(row, word);
    close(row);
  }

  TurnShape shape;
  LeaderTable table;
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> pages;
  std::uint64_t turns = 0;
};

constexpr std::uint64_t kAllVote = 7;

LeaderWord word_of(Role role, std::uint64_t term, std::uint32_t leader) {
  return {role, Term{term}, NodeId{leader}, kAllVote};
}

// How many rows changed.
std::size_t follow(ResidentLeaders& leaders) {
  const auto& changes = leaders.look();
  for (const auto& change : changes) {
    leaders.set(change);
  }
  return changes.size();
}

TEST(LeaderTable, AWordSaysWhatItWasGiven) {
  constexpr std::uint64_t kTermMax = (std::uint64_t{1} << 48) - 1;
  for (const Role role : {Role::Follower, Role::PreCandidate, Role::Candidate, Role::Leader}) {
    for (std::uint32_t leader = 0; leader <= 3; ++leader) {
      for (std::uint64_t standing = 0; standing <= standing_mask(kStandingSlots); ++standing) {
        for (const std::uint64_t term : {std::uint64_t{0}, std::uint64_t{77}, kTermMax}) {
          const LeaderWord word{role, Term{term}, NodeId{leader}, standing};
          const LeaderWord again = decode_leader(encode(word));
          ASSERT_NE(encode(word), 0u);
          ASSERT_EQ(again.role, role);
          ASSERT_EQ(again.term, Term{term});
          ASSERT_EQ(again.leader, NodeId{leader});
          ASSERT_EQ(again.standing, standing);
        }
      }
    }
  }
}

// Rows of five and seven have words of their own.
TEST(LeaderTable, AWordOfMoreSlotsSaysWhatItWasGiven) {
  for (const std::uint32_t slots : {5u, 7u}) {
    const std::uint64_t term_max = ~std::uint64_t{0} >> term_shift(slots);
    for (const Role role : {Role::Follower, Role::PreCandidate, Role::Candidate, Role::Leader}) {
      for (std::uint32_t leader = 0; leader <= slots; ++leader) {
        for (std::uint64_t standing = 0; standing <= standing_mask(slots);
             standing += 1 + standing / 7) {
          for (const std::uint64_t term : {std::uint64_t{0}, std::uint64_t{77}, term_max}) {
            const LeaderWord word{role, Term{term}, NodeId{leader}, standing, slots};
            const LeaderWord again = decode_leader(encode(word), slots);
            ASSERT_NE(encode(word) & leader_said(slots), 0u);
            ASSERT_EQ(again.role, role);
            ASSERT_EQ(again.term, Term{term});
            ASSERT_EQ(again.leader, NodeId{leader});
            ASSERT_EQ(again.standing, standing);
          }
        }
      }
    }
    EXPECT_EQ(
        decode_leader(encode({Role::Follower, Term{5}, NodeId{slots + 1}, 0, slots}), slots).leader,
        NodeId{});
  }
}

TEST(LeaderTable, ALeaderThatNoSlotHasIsNone) {
  EXPECT_EQ(decode_leader(encode(word_of(Role::Follower, 5, 4))).leader, NodeId{});
  EXPECT_EQ(decode_leader(encode(word_of(Role::Follower, 5, ~0u))).leader, NodeId{});
}

TEST(LeaderTable, StandingNamesVotersWhoLeavesAndLearners) {
  consensus::Hot hot;
  consensus::Configuration configuration;
  configuration.voters = 0b011;
  configuration.voters_outgoing = 0b101;
  configuration.learners = 0b100;
  hot.flags = consensus::kRowForgetful;
  const LeaderWord word{Role::Follower, Term{1}, NodeId{}, standing_of(hot, configuration)};
  EXPECT_EQ(word.voters(), 0b011u);
  EXPECT_EQ(word.voters_outgoing(), 0b101u);
  EXPECT_EQ(word.learners(), 0b100u);
  EXPECT_TRUE(word.forgetful());
  hot.flags = 0;
  EXPECT_EQ(standing_of(hot, configuration), word.standing & ~standing_forgetful(kStandingSlots));
}

TEST(ResidentLeaders, ALookFindsWhatChangedInAnyRow) {
  Table device;
  ResidentLeaders leaders(NodeId{2}, device.shape, device.table);
  EXPECT_TRUE(leaders.look().empty());
  for (std::uint32_t row = 0; row < device.shape.shard_count; ++row) {
    device.tell(row, word_of(Role::Leader, 10 + row, 2));
    const auto& changes = leaders.look();
    ASSERT_EQ(changes.size(), 1u) << row;
    ASSERT_EQ(changes[0].shard, ShardId{row});
    ASSERT_EQ(changes[0].word.term, Term{10 + row});
    leaders.set(changes[0]);
    ASSERT_EQ(leaders.leader_count(), row + 1);
    ASSERT_EQ(leaders.known(ShardId{row}).role, Role::Leader);
  }
  EXPECT_TRUE(leaders.look().empty());
}

// A page is closed behind its words: one that is not closed yet may be found or not, and is found
// when it is.
TEST(ResidentLeaders, WhatIsStoredBehindAPageIsFoundOnceItIsClosed) {
  Table device;
  ResidentLeaders leaders(NodeId{1}, device.shape, device.table);
  device.store(700, word_of(Role::Leader, 3, 1));
  EXPECT_TRUE(leaders.look().empty());
  device.close(700);
  EXPECT_EQ(leaders.look().size(), 1u);
}

TEST(ResidentLeaders, WhatALookFoundIsKnownOnlyOnceItIsSet) {
  Table device;
  ResidentLeaders leaders(NodeId{1}, device.shape, device.table);
  device.tell(5, word_of(Role::Leader, 3, 1));
  const ResidentLeaders::Change change = leaders.look().at(0);
  device.tell(5, word_of(Role::Follower, 4, 0));
  EXPECT_EQ(leaders.known(ShardId{5}).role, Role::Follower);
  EXPECT_EQ(leaders.leader_count(), 0u);
  leaders.set(change);
  EXPECT_EQ(leaders.known(ShardId{5}).role, Role::Leader);
  EXPECT_EQ(leaders.leader_count(), 1u);
  follow(leaders);
  EXPECT_EQ(leaders.known(ShardId{5}).term, Term{4});
  EXPECT_EQ(leaders.leader_count(), 0u);
}

// As long as pages change faster than they are looked at, every one still has its turn.
TEST(ResidentLeaders, ALookTakesAPartAndTheNextOneGoesOnBehindIt) {
  constexpr std::uint32_t kPages = 3 * ResidentLeaders::kLookPagesMax;
  Table device(kPages * kLeaderPageRows);
  ResidentLeaders leaders(NodeId{1}, device.shape, device.table);
  for (std::uint64_t term = 1; term <= 3; ++term) {
    for (std::uint32_t page = 0; page < kPages; ++page) {
      device.tell(page * kLeaderPageRows, word_of(Role::Leader, term, 1));
    }
    EXPECT_EQ(follow(leaders), ResidentLeaders::kLookPagesMax);
  }
  // All of them have been looked at once: these rows changed since, two thirds of the pages.
  EXPECT_EQ(leaders.leader_count(), kPages);
  EXPECT_EQ(follow(leaders), ResidentLeaders::kLookPagesMax);
  EXPECT_EQ(follow(leaders), ResidentLeaders::kLookPagesMax);
  EXPECT_EQ(follow(leaders), 0u);
  EXPECT_EQ(leaders.leader_count(), kPages);
  for (std::uint32_t page = 0; page < kPages; ++page) {
    EXPECT_EQ(leaders.known(ShardId{page * kLeaderPageRows}).term, Term{3}) << page;
  }
}

TEST(ResidentLeaders, ALookThatFoundManyChangesTakesNoFurtherPage) {
  constexpr std::uint32_t kMax = ResidentLeaders::kLookChangesMax;
  Table device(kMax + 8 * kLeaderPageRows);
  ResidentLeaders leaders(NodeId{1}, device.shape, device.table);
  for (std::uint32_t row = 0; row < device.shape.shard_count; ++row) {
    device.tell(row, word_of(Role::Leader, 1, 1));
  }
  const std::size_t first = follow(leaders);
  EXPECT_GE(first, kMax);
  EXPECT_LT(first, kMax + kLeaderPageRows);
  EXPECT_EQ(follow(leaders), device.shape.shard_count - first);
  EXPECT_EQ(leaders.leader_count(), device.shape.shard_count);
}

TEST(ResidentLeaders, CountsFollowWhatIsKnown) {
  Table device(8);
  ResidentLeaders leaders(NodeId{3}, device.shape, device.table);
  EXPECT_EQ(leaders.unled_count(), 8u);
  EXPECT_EQ(leaders.voting_count(), 8u);
  leaders.begin_forgotten();
  EXPECT_EQ(leaders.unled_count(), 8u);
  EXPECT_EQ(leaders.voting_count(), 0u);
  EXPECT_EQ(leaders.forgotten_count(), 8u);
  device.tell(0, word_of(Role::Follower, 1, 1));
  device.tell(1, word_of(Role::Leader, 1, 3));
  device.tell(2, {Role::Follower, Term{1}, NodeId{2}, 0b011});
  follow(leaders);
  EXPECT_EQ(leaders.leader_count(), 1u);
  EXPECT_EQ(leaders.unled_count(), 5u);
  EXPECT_EQ(leaders.led_anew(), 3u);
  EXPECT_EQ(leaders.voting_count(), 2u);
  EXPECT_EQ(leaders.forgotten_count(), 5u);
  device.tell(0, word_of(Role::PreCandidate, 1, 0));
  device.tell(1, word_of(Role::Leader, 4, 3));
  follow(leaders);
  EXPECT_EQ(leaders.leader_count(), 1u);
  EXPECT_EQ(leaders.unled_count(), 6u);
  EXPECT_EQ(leaders.led_anew(), 3u);
}

// A device tells without pause while its host looks: a term never falls, and in the end nothing is
// missed. ThreadSanitizer judges the orders.
TEST(ResidentLeaders, AHostThatLooksWhileItsDeviceTellsMissesNothingInTheEnd) {
  constexpr std::uint64_t kTerms = 400;
  Table device(1024);
  ResidentLeaders leaders(NodeId{1}, device.shape, device.table);
  std::thread writer([&device] {
    for (std::uint64_t term = 1; term <= kTerms; ++term) {
      for (std::uint32_t row = 0; row < device.shape.shard_count; row += 7) {
        device.tell(row, word_of(term % 2 == 0 ? Role::Leader : Role::Candidate, term, 1));
      }
    }
  });
  const std::uint32_t told = (device.shape.shard_count + 6) / 7;
  std::uint32_t done = 0;
  while (done < told) {
    for (const auto& change : leaders.look()) {
      ASSERT_GT(change.word.term, leaders.known(change.shard).term);
      leaders.set(change);
      done += change.word.term == Term{kTerms} ? 1 : 0;
    }
    std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(leaders.leader_count(), told);
}

}  // namespace
}  // namespace gcoord::server
