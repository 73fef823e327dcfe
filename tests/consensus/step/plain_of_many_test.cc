// Plain and steady steps of rows with five voters: what stays plain is the whole step, bit for bit;
// and what packed rows of five and seven hold comes back as it was.
#include "consensus/device/packed_table.h"
#include "consensus/step/step_plain.h"
#include "tests/consensus/random_values.h"
#include "tests/consensus/steady_samples.h"
#include "tests/consensus/stepped_equal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kSeeds = 100'000;

// How often a step that began plain was tried, and how often it stayed.
struct Shares {
  std::uint32_t tried = 0;
  std::uint32_t plain = 0;
  std::uint32_t steady = 0;
};

// Every step of these rows that stays plain, or steady, is held against the whole one.
template <std::uint32_t kVoters>
Shares hold_against_whole() {
  Shares shares;
  for (std::uint32_t seed = 0; seed < kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    GivenOf<kVoters> given;
    draw_given(draw, given);
    const ShardRef row = ref_of(given.row, ShardId{7}, kVoters);
    if (!is_plain<kVoters>(row, given.input) || !plain_inbox(given.in)) {
      continue;
    }
    ++shares.tried;
    Stepped whole =
        step_as<StepScope::Whole, kVoters>(given.row, given.in, given.message, given.input);
    Stepped plain =
        step_as<StepScope::Plain, kVoters>(given.row, given.in, given.message, given.input);
    if (plain.out.beyond_plain == 0) {
      ++shares.plain;
      expect_equal(plain, whole);
    }
    Stepped steady = step_steadily(given);
    if (steady.out.beyond_plain == 0) {
      ++shares.steady;
      expect_equal(steady, whole);
    }
  }
  return shares;
}

TEST(PlainStepOfMany, OfFiveThatStaysPlainIsTheWholeStep) {
  const Shares shares = hold_against_whole<5>();
  EXPECT_GT(shares.tried, kSeeds / 5);
  EXPECT_GT(shares.plain, shares.tried / 3);
  EXPECT_GT(shares.steady, shares.tried / 8);
}

// No turn takes it today (server/device_turn/voters.h), and it holds.
TEST(PlainStepOfMany, OfSevenThatStaysPlainIsTheWholeStep) {
  const Shares shares = hold_against_whole<7>();
  EXPECT_GT(shares.tried, kSeeds / 5);
  EXPECT_GT(shares.plain, shares.tried / 3);
}

// Three voters of five nodes, or five voters in another order, are not plain.
TEST(PlainStepOfMany, IsForVotersInTheOrderOfTheirNumbers) {
  Draw draw(2);
  GivenOf<5> given;
  draw_given(draw, given);
  given.row = some_row<5>(draw, given.input.self);
  given.row.election.answer = 0;
  given.row.log.configuration_pending = LogIndex{};
  const ShardRef row = ref_of(given.row, ShardId{7}, 5);
  ASSERT_TRUE(is_plain<5>(row, given.input));
  EXPECT_FALSE(is_plain<3>(row, given.input));
  std::swap(given.row.configuration.node[3], given.row.configuration.node[4]);
  EXPECT_FALSE(is_plain<5>(row, given.input)) << "two stand in the wrong slots";
  std::swap(given.row.configuration.node[3], given.row.configuration.node[4]);
  given.row.configuration.voters = 0b1111;
  EXPECT_FALSE(is_plain<5>(row, given.input)) << "one does not vote";
}

template <std::uint32_t kVoters>
void expect_the_middle() {
  Configuration configuration;
  configuration.voters = kPlainMask<kVoters>;
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  const std::uint64_t most = any_bool() ? 3 : ~std::uint64_t{0} - 1;
  std::uint64_t match[kReplicaSlots];
  for (std::uint64_t& index : match) {
    index = any_from<std::uint64_t>(0, most);
  }
  RC_ASSERT(LogIndex{equal_voters_reached<kVoters>(match)} ==
            committed_index(configuration, match));
}

RC_GTEST_PROP(PlainStepOfMany, QuorumOfEqualVotersIsTheOneInTheMiddle, ()) {
  expect_the_middle<3>();
  expect_the_middle<5>();
  expect_the_middle<7>();
}

// --- Packed rows

// A row that drew what fits is packed, comes back as it was, and finds no place of the pool.
template <std::uint32_t kVoters>
void pack_and_unpack() {
  constexpr std::uint32_t kMore = kVoters - kPackedSlots;
  constexpr std::uint32_t kRows = 3;
  ColumnArena arena(packed_rows_bytes(kRows, kMore) + wide_pool_bytes(kVoters, 32));
  PackedTable table = carve_packed_rows(arena, kRows, kVoters);
  carve_more_slots(arena, table, kMore);
  carve_wide_pool(arena, table, 32);
  for (std::uint32_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const NodeId self = some_node(draw, kVoters);
    RowCopy row = some_row<kVoters>(draw, self, some_node(draw, kVoters));
    if (draw.once_in(3)) {  // As one that is taken back, in a slot beside the row.
      row.configuration.voters = static_cast<SlotMask>(row.configuration.voters & ~slot_bit(4));
      row.configuration.learners = slot_bit(4);
      row.configuration.weight[4] = 0;
    }
    const ShardRef given = ref_of(row, ShardId{1}, kVoters);
    ASSERT_TRUE(store_row<kMore>(table, 1, kNotWide, given));
    ASSERT_FALSE(is_wide(table.packed[1]));
    RowCopy again{};
    const ShardRef back = ref_of(again, ShardId{1}, kVoters);
    ASSERT_EQ(load_row<kMore>(table, 1, back), kNotWide);
    ASSERT_EQ(row_digest(back), row_digest(given));
  }
}

TEST(PackedRowOfMany, OfFiveComesBackAsItWas) {
  pack_and_unpack<5>();
}

TEST(PackedRowOfMany, OfSevenComesBackAsItWas) {
  pack_and_unpack<7>();
}

// A joint configuration, and a member that there is no room for, are wide, and come back, too.
TEST(PackedRowOfMany, WhatDoesNotFitIsWideAndComesBack) {
  ColumnArena arena(packed_rows_bytes(2, 2) + wide_pool_bytes(5, 32));
  PackedTable table = carve_packed_rows(arena, 2, 5);
  carve_more_slots(arena, table, 2);
  carve_wide_pool(arena, table, 32);
  Draw draw(1);
  RowCopy row = some_row<5>(draw, NodeId{2}, NodeId{4});
  row.configuration.voters_outgoing = 0b11011;
  const ShardRef given = ref_of(row, ShardId{0}, 5);
  ASSERT_TRUE(store_row<2>(table, 0, kNotWide, given));
  EXPECT_TRUE(is_wide(table.packed[0]));
  RowCopy again{};
  const ShardRef back = ref_of(again, ShardId{0}, 5);
  const std::uint32_t place = load_row<2>(table, 0, back);
  EXPECT_NE(place, kNotWide);
  EXPECT_EQ(row_digest(back), row_digest(given));
  row.configuration.voters_outgoing = 0;
  ASSERT_TRUE(store_row<2>(table, 0, place, given));
  EXPECT_FALSE(is_wide(table.packed[0]));
  EXPECT_EQ(load_row<2>(table, 0, back), kNotWide);
  EXPECT_EQ(row_digest(back), row_digest(given));
}

}  // namespace
}  // namespace gcoord::consensus
