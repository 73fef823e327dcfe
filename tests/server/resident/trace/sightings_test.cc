// Sightings of rows by the host of a resident turn: what each says, what it leaves out, and that no
// order in which words, entries and votes reach a host makes a term fall.
#include "server/resident/trace/sightings.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

constexpr ShardId kShard{3};
constexpr NodeId kSelf{2};
constexpr NodeId kOther{1};

class SightingsTest : public testing::Test {
 protected:
  static LeaderWord word(std::uint64_t term, NodeId leader) {
    return {.role = leader == kSelf ? consensus::Role::Leader : consensus::Role::Follower,
            .term = Term{term},
            .leader = leader};
  }

  std::vector<TurnSighting> said_;
  TurnSightings sightings_{{.node = kSelf,
                            .shard_count = 8,
                            .now = [] { return Tick{77}; },
                            .hash_of = [](ShardId) { return std::uint64_t{5}; },
                            .write = [this](const TurnSighting& said) { said_.push_back(said); }}};
};

TEST_F(SightingsTest, ALineSaysTheNewestTermAndWhoLeadsInIt) {
  sightings_.on_applied(kShard, LogIndex{1}, 0xabc);
  sightings_.on_leader(kShard, word(5, kSelf));
  sightings_.on_applied(kShard, LogIndex{2}, std::nullopt);
  ASSERT_EQ(said_.size(), 3u);
  EXPECT_EQ(said_[0].term, Term{}) << "not known yet";
  EXPECT_EQ(said_[0].state_hash, 0xabcu);
  EXPECT_EQ(said_[1].cause, SightingCause::Leader);
  EXPECT_EQ(said_[1].leader, kSelf);
  EXPECT_EQ(said_[1].role, consensus::Role::Leader);
  EXPECT_EQ(said_[2].term, Term{5});
  EXPECT_EQ(said_[2].applied, LogIndex{2});
  EXPECT_FALSE(said_[2].state_hash.has_value());
  EXPECT_EQ(said_[2].node, kSelf);
  EXPECT_EQ(said_[2].tick, Tick{77});
}

TEST_F(SightingsTest, AVoteIsSaidOnceAndEndsWhatWasKnownOfEarlierTerms) {
  sightings_.on_leader(kShard, word(5, kOther));
  sightings_.on_stored(kShard, Term{6}, kSelf);
  sightings_.on_stored(kShard, Term{6}, kSelf);  // With an entry of the term.
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[1].vote, kSelf);
  EXPECT_EQ(said_[1].term, Term{6});
  EXPECT_EQ(said_[1].leader, NodeId{}) << "nobody is known to lead in term 6";
  EXPECT_EQ(said_[1].role, consensus::Role::Follower);
}

// The table is read after the storage's answer, and may say less than that by then.
TEST_F(SightingsTest, AWordOlderThanAVoteIsLeftOut) {
  sightings_.on_stored(kShard, Term{6}, kSelf);
  sightings_.on_leader(kShard, word(5, kOther));
  sightings_.on_applied(kShard, LogIndex{10}, 1);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[1].term, Term{6});
}

TEST_F(SightingsTest, AVoteOlderThanAWordIsLeftOut) {
  sightings_.on_leader(kShard, word(7, kOther));
  sightings_.on_stored(kShard, Term{6}, kSelf);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(SightingsTest, ATermWithoutAVoteSaysNothing) {
  sightings_.on_stored(kShard, Term{6}, NodeId{});
  EXPECT_TRUE(said_.empty());
}

}  // namespace
}  // namespace gcoord::server
