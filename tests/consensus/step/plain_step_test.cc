// A plain step that stays plain is the whole step, whatever row and inbox it is given.
#include "consensus/step/plain_step.h"

#include "tests/consensus/stepped_equal.h"

#include <gtest/gtest.h>

#include <utility>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kSeeds = 100'000;

TEST(PlainStep, ThatStaysPlainIsTheWholeStep) {
  std::uint32_t stayed = 0;
  std::uint32_t left = 0;
  for (std::uint32_t seed = 0; seed < kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const NodeId self = some_node(draw);
    const NodeId leader = draw.once_in(2) ? self : some_node(draw);
    RowCopy row = some_row(draw, self, leader);
    const InboxHead in = some_inbox(draw, row);
    const Message messages[2] = {some_message(draw, row, self, leader),
                                 some_message(draw, row, self, leader)};
    PeerLiveness peer[2];
    fill_peers(draw, self, peer);
    const StepInput input{.tick = kNow, .seed = 1, .self = self, .peer = peer, .peer_count = 2};
    if (!is_plain(ref_of(row, ShardId{7}, 3), input) || !plain_inbox(in)) {
      continue;
    }
    Stepped plain = step_as<StepScope::Plain>(row, in, messages, input);
    if (plain.out.beyond_plain != 0) {
      ++left;
      continue;
    }
    Stepped whole = step_as<StepScope::Whole>(row, in, messages, input);
    expect_equal(plain, whole);
    ++stayed;
  }
  EXPECT_GT(stayed, kSeeds / 5);
  EXPECT_GT(left, kSeeds / 50);
}

// Saying again what is_plain found out changes nothing.
TEST(PlainStep, RestatesWhatHolds) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed);
    const NodeId self = some_node(draw);
    const NodeId leader = draw.once_in(2) ? self : some_node(draw);
    RowCopy row = some_row(draw, self, leader);
    const ShardRef shard = ref_of(row, ShardId{7}, 3);
    PeerLiveness peer[2];
    fill_peers(draw, self, peer);
    const StepInput input{.tick = kNow, .self = self, .peer = peer, .peer_count = 2};
    if (is_plain(shard, input)) {
      const std::uint64_t before = row_digest(shard);
      restate_plain(shard, row.hot.role, input);
      ASSERT_EQ(row_digest(shard), before);
    }
  }
}

// Three equal voters whose slots are not in the order of their numbers take the whole step, and so
// does a row of somebody who is none of them.
TEST(PlainStep, IsForVotersInTheOrderOfTheirNumbers) {
  PeerLiveness peer[2] = {{.node = NodeId{1}}, {.node = NodeId{3}}};
  const StepInput input{.tick = kNow, .self = NodeId{2}, .peer = peer, .peer_count = 2};
  Draw draw(2);
  RowCopy row = some_row(draw, NodeId{2});
  row.election.answer = 0;
  row.log.configuration_pending = LogIndex{};
  const ShardRef shard = ref_of(row, ShardId{7}, 3);
  ASSERT_TRUE(is_plain(shard, input));
  std::swap(row.configuration.node[0], row.configuration.node[1]);
  EXPECT_FALSE(is_plain(shard, input)) << "another one stands in our slot";
  row.hot.self_slot = 0;
  EXPECT_FALSE(is_plain(shard, input)) << "we stand in the first slot";
  std::swap(row.configuration.node[0], row.configuration.node[1]);
  row.hot.self_slot = 1;
  ASSERT_TRUE(is_plain(shard, input));
  row.configuration.node[2] = NodeId{4};
  EXPECT_FALSE(is_plain(shard, input)) << "a voter that is no peer";
  row.configuration.node[2] = NodeId{3};
  std::swap(peer[0], peer[1]);
  EXPECT_FALSE(is_plain(shard, input)) << "peers in another order";
}

}  // namespace
}  // namespace gcoord::consensus
