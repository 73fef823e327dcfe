// The pool of wide rows of a resident node: sizes, growth at rest, and nodes that ask for it.
#include "server/resident/node/pool.h"

#include "common/device/device_errors.h"
#include "common/random.h"
#include "consensus/device/row_copy.h"
#include "server/device_turn/range_arena.h"
#include "server/resident/engine/leaders.h"
#include "server/resident/node/host_image.h"
#include "server/resident/node/node.h"
#include "server/resident/node/turn.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::PackedTable;
using consensus::RowCopy;
using consensus::ShardRef;

constexpr TurnShape kShape{
    .shard_count = 256, .stripe_count = 2, .log_slots = 128, .entries_max = 16, .wide_count = 200};

// --- Alone

// A row that has seen so many terms, an entry in each; three are too many for a packed one.
void see_terms(ShardRef shard, std::uint32_t terms) {
  shard.hot().term = Term{terms};
  consensus::Log& log = shard.log();
  log.last = LogIndex{terms};
  log.run_count = terms;
  for (std::uint32_t run = 0; run < terms; ++run) {
    shard.runs().start_offset[run] = run + 1;
    shard.runs().term_offset[run] = run;
  }
}

class ResidentPoolTest : public testing::Test {
 protected:
  static PackedTable rows_in(const HostImage& image) {
    RangeArena arena(image.range());
    return consensus::carve_packed_rows(arena, kShape.shard_count, kTurnNodes);
  }

  // Stores every row, each third one wide; what was stored.
  static std::vector<RowCopy> fill(const PackedTable& table) {
    std::vector<RowCopy> rows(table.row_count);
    for (std::uint32_t row = 0; row < table.row_count; ++row) {
      const ShardRef shard = consensus::ref_of(rows[row], ShardId{row}, kTurnNodes);
      see_terms(shard, row % 3 == 0 ? 4 : 1);
      shard.hot().vote = NodeId{1 + row % kTurnNodes};
      EXPECT_TRUE(consensus::store_row(table, row, consensus::kNotWide, shard));
    }
    return rows;
  }

  static void expect_rows(const PackedTable& table, std::vector<RowCopy>& rows) {
    for (std::uint32_t row = 0; row < table.row_count; ++row) {
      RowCopy loaded;
      const ShardRef found = consensus::ref_of(loaded, ShardId{row}, kTurnNodes);
      const std::uint32_t place = consensus::load_row(table, row, found);
      EXPECT_EQ(place != consensus::kNotWide, row % 3 == 0);
      EXPECT_EQ(found.log().run_count, row % 3 == 0 ? 4u : 1u);
      const ShardRef meant = consensus::ref_of(rows[row], ShardId{row}, kTurnNodes);
      EXPECT_EQ(found.hot().term, meant.hot().term);
      EXPECT_EQ(found.hot().vote, meant.hot().vote) << "row " << row;
      EXPECT_EQ(found.runs().start_offset[found.log().run_count - 1],
                meant.runs().start_offset[found.log().run_count - 1]);
    }
  }

  HostImage rows_{consensus::packed_rows_bytes(kShape.shard_count)};
  netcore::MemoryRegistry registry_{netcore::make_host_memory()};
  ResidentPool pool_{registry_};
};

TEST_F(ResidentPoolTest, AMillionRowsBeginWithRoomForOneInSixteen) {
  TurnShape shape;
  shape.shard_count = 1u << 20;
  shape.stripe_count = 256;
  EXPECT_EQ(first_wide_places(shape), shape.shard_count / 16);
  shape.shard_count = 4096;
  shape.stripe_count = 16;
  EXPECT_EQ(first_wide_places(shape), 2u * 3 * kTurnPlaces * 16);
  shape.shard_count = 100;
  EXPECT_EQ(first_wide_places(shape), 100u);
}

TEST_F(ResidentPoolTest, GrowsUntilEveryRowHasAPlaceAndLosesNone) {
  PackedTable table = rows_in(rows_);
  ASSERT_TRUE(pool_.open(table, 96).ok());
  std::vector<RowCopy> rows = fill(table);
  const std::size_t bytes = registry_.bytes_of(netcore::MemoryKind::Private);
  EXPECT_NE(wide_ask_from(kShape, table), 0u);
  ASSERT_TRUE(pool_.grow(table).ok());
  EXPECT_EQ(table.wide.row_count, kShape.shard_count);
  EXPECT_EQ(wide_ask_from(kShape, table), 0u);
  EXPECT_GT(registry_.bytes_of(netcore::MemoryKind::Private), bytes);
  expect_rows(table, rows);
  // What was free is free, and what was taken is not given again.
  for (std::uint32_t free = kShape.shard_count - 86; free != 0; --free) {
    ASSERT_LT(consensus::claim_wide(table, free), kShape.shard_count);
  }
  EXPECT_EQ(consensus::claim_wide(table, 0), kShape.shard_count);
  expect_rows(table, rows);
}

TEST_F(ResidentPoolTest, ShrinksToWhatIsTakenAndLosesNone) {
  PackedTable table = rows_in(rows_);
  ASSERT_TRUE(pool_.open(table, kShape.shard_count).ok());
  std::vector<RowCopy> rows = fill(table);
  const std::size_t bytes = registry_.bytes_of(netcore::MemoryKind::Private);
  EXPECT_EQ(pool_.taken(table).value(), 86u);
  EXPECT_EQ(pool_.shrink(table, 96).value(), 86u);
  EXPECT_EQ(table.wide.row_count, 96u);
  EXPECT_LT(registry_.bytes_of(netcore::MemoryKind::Private), bytes);
  expect_rows(table, rows);
  // Ten places are free, and what was taken is not given again.
  for (std::uint32_t free = 96 - 86; free != 0; --free) {
    ASSERT_LT(consensus::claim_wide(table, free), 96u);
  }
  EXPECT_EQ(consensus::claim_wide(table, 0), 96u);
  expect_rows(table, rows);
  ASSERT_TRUE(pool_.grow(table).ok());
  expect_rows(table, rows);
}

// A device that lies about its rows must not make the host read beyond its pool.
TEST_F(ResidentPoolTest, ATableWithPlacesThatItDoesNotHaveIsNotShrunk) {
  for (const std::uint64_t place : {std::uint64_t{kShape.shard_count}, ~std::uint64_t{0}}) {
    PackedTable table = rows_in(rows_);
    ASSERT_TRUE(pool_.open(table, kShape.shard_count).ok());
    static_cast<void>(fill(table));
    table.packed[3].term = place;
    EXPECT_EQ(pool_.shrink(table, 96).status().detail(), kDeviceFailed);
  }
  HostImage other(consensus::packed_rows_bytes(kShape.shard_count));
  PackedTable table = rows_in(other);
  ASSERT_TRUE(pool_.open(table, kShape.shard_count).ok());
  static_cast<void>(fill(table));
  table.packed[3].term = table.packed[6].term;  // One place for two rows.
  EXPECT_EQ(pool_.shrink(table, 96).status().detail(), kDeviceFailed);
}

TEST_F(ResidentPoolTest, AMillionRowsGiveALargePoolBackOnceFewOfThemNeedIt) {
  TurnShape shape;
  shape.shard_count = 1u << 20;
  shape.stripe_count = 256;
  shape.wide_count = first_wide_places(shape);
  PackedTable table;
  table.slot_count = kTurnNodes;
  table.row_count = shape.shard_count;
  table.wide.row_count = shape.shard_count;
  EXPECT_EQ(shrunk_places(shape, table, 0), 0u) << "the node would be silent for too long";
  table.wide.row_count = shape.shard_count / 4;
  EXPECT_EQ(shrunk_places(shape, table, shape.shard_count / 8), 0u);
  EXPECT_EQ(shrunk_places(shape, table, 1000), shape.wide_count);
  shape.wide_count = 32;
  const std::uint32_t places = shrunk_places(shape, table, 10'000);
  EXPECT_GT(places, 20'000u);
  table.wide.row_count = places;
  EXPECT_GE(wide_ask_from(shape, table), 20'000u);
  EXPECT_EQ(shrunk_places(shape, table, 10'000), 0u);
  table.wide.row_count = shape.wide_count;
  EXPECT_EQ(shrunk_places(shape, table, 0), 0u);
}

TEST_F(ResidentPoolTest, TakesOverWhatAnImageOfTheHostHolds) {
  HostImage image_pool(consensus::wide_pool_bytes(kTurnNodes, kShape.shard_count));
  PackedTable image = rows_in(rows_);
  RangeArena arena(image_pool.range());
  consensus::carve_wide_pool(arena, image, kShape.shard_count);
  std::vector<RowCopy> rows = fill(image);
  PackedTable table = image;
  ASSERT_TRUE(pool_.open(table, 32).ok());
  const auto taken = pool_.take_over(table, image);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value(), 86u);
  EXPECT_EQ(table.wide.row_count, consensus::whole_words(2 * 86));
  expect_rows(table, rows);
}

// --- In nodes

struct PoolNode {
  std::unique_ptr<ResidentNode> memory;
  std::unique_ptr<ResidentTurn> turn;
  std::unique_ptr<ResidentLeaders> leaders;
  std::uint32_t growths = 0;
};

class PoolWorld {
 public:
  PoolWorld() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ResidentNodeOptions options;
      options.self = NodeId{n + 1};
      options.shape = kShape;
      options.pages.first = kShape.shard_count;  // The pool of log pages is never short.
      options.ring_slots = 256;
      options.timing.tick_ns = kTickNs;
      options.timing.durability = consensus::Durability::Memory;
      options.timing.limits = {
          .window_entries = 64, .uncommitted_entries = 64, .message_entries = 16};
      options.timing.seed = mix64(n);
      auto made = ResidentNode::make(options, netcore::make_host_memory());
      GCOORD_ASSERT(made.ok());
      nodes[n].memory = std::move(made).value();
      nodes[n].leaders =
          std::make_unique<ResidentLeaders>(options.self, kShape, nodes[n].memory->view().leaders);
      for (std::uint32_t other = 0; other < n; ++other) {
        EXPECT_TRUE(join_resident(*nodes[n].memory, *nodes[other].memory).ok());
      }
    }
    for (PoolNode& node : nodes) {
      node.turn = make_host_turn(*node.memory);
      EXPECT_TRUE(node.turn->prepare().ok());
      EXPECT_TRUE(node.turn->start().ok());
    }
  }

  // `away` is not turned.
  void turns(std::uint32_t count, std::uint32_t away = kTurnNodes) {
    for (std::uint32_t k = 0; k < count; ++k) {
      now_ns_ += kTickNs / 10;
      if (k % 100 == 0) {
        keep_logs();
      }
      for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
        if (n != away) {
          turn(nodes[n]);
        }
      }
    }
  }

  std::uint32_t led_by(std::uint32_t n) const {
    std::uint32_t led = 0;
    for (std::uint32_t row = 0; row < kShape.shard_count; ++row) {
      led += nodes[n].leaders->known(ShardId{row}).leads() ? 1 : 0;
    }
    return led;
  }

  PoolNode nodes[kTurnNodes];

 private:
  static constexpr std::uint64_t kTickNs = 1000;

  // Rows at rest would forget their logs, and with them the terms that make them wide: each look at
  // one finds it as if it had moved (PageMark).
  void keep_logs() {
    for (PoolNode& node : nodes) {
      const auto& pages = node.memory->view().pages;
      const std::size_t count = std::size_t{pages.stripe_pages} * pages.stripe_count;
      for (std::size_t page = 0; page < count; ++page) {
        pages.mark[page].applied = ~0u;
      }
    }
  }

  void turn(PoolNode& node) {
    const auto any = node.turn->turn(now_ns_);
    ASSERT_TRUE(any.ok()) << any.status().to_string();
    if (node.turn->rests()) {
      ++node.growths;
      ASSERT_TRUE(node.turn->stop(0).ok());
      ASSERT_TRUE(node.memory->go_on().ok());
      ASSERT_TRUE(node.turn->start().ok());
    }
    for (const ResidentLeaders::Change& change : node.leaders->look()) {
      node.leaders->set(change);
    }
    for (std::uint32_t lane = 0; lane < kShape.stripe_count; ++lane) {
      while (node.memory->pull(lane) != nullptr) {
      }
    }
  }

  std::uint64_t now_ns_ = 1'000'000;
};

// Each time a node is away the rows that it led see another term; before their logs are compacted
// three terms are too many for a packed row.
TEST(ResidentPool, ANodeThatRunsShortOfPlacesIsGivenMoreAndGoesOn) {
  PoolWorld world;
  world.turns(3000);
  const auto grown = [&world] {
    return world.nodes[0].growths + world.nodes[1].growths + world.nodes[2].growths;
  };
  for (std::uint32_t k = 0; k < 8 * kTurnNodes && grown() < kTurnNodes; ++k) {
    world.turns(2000, k % kTurnNodes);
    world.turns(1000);
  }
  ASSERT_EQ(grown(), kTurnNodes) << "no node ever had few places left";
  for (const PoolNode& node : world.nodes) {
    EXPECT_EQ(node.growths, 1u);
    EXPECT_EQ(node.memory->view().table.wide.row_count, kShape.shard_count);
    EXPECT_EQ(*node.memory->view().table.exhausted, 0u);
    EXPECT_GE(*node.memory->view().wide_used, 32u);
  }
  // All rows are led, by nodes that are there, and led again when one is not.
  world.turns(4000);
  EXPECT_EQ(world.led_by(0) + world.led_by(1) + world.led_by(2), kShape.shard_count);
  world.turns(6000, 2);
  EXPECT_EQ(world.led_by(0) + world.led_by(1), kShape.shard_count);
}

TEST(ShrinkPace, TwoLooksInARowHaveToFindThePoolTooLarge) {
  ShrinkPace pace;
  EXPECT_TRUE(pace.is_due(5));
  EXPECT_FALSE(pace.is_due(5 + ShrinkPace::kBetweenMs - 1));
  EXPECT_TRUE(pace.is_due(5 + ShrinkPace::kBetweenMs));
  EXPECT_EQ(pace.found(64), 0u);
  EXPECT_EQ(pace.found(0), 0u);
  EXPECT_EQ(pace.found(64), 0u);
  EXPECT_EQ(pace.found(96), 96u);
  EXPECT_EQ(pace.found(96), 0u) << "it was given that";
}

// The rows of a node as they are, packed or wide.
std::vector<RowCopy> rows_of(const PoolNode& node) {
  const PackedTable& table = node.memory->view().table;
  std::vector<RowCopy> rows(table.row_count);
  for (std::uint32_t row = 0; row < table.row_count; ++row) {
    static_cast<void>(
        consensus::load_row(table, row, consensus::ref_of(rows[row], ShardId{row}, kTurnNodes)));
  }
  return rows;
}

void expect_same_rows(std::vector<RowCopy> rows, std::vector<RowCopy> meant) {
  for (std::uint32_t row = 0; row < kShape.shard_count; ++row) {
    const ShardRef one = consensus::ref_of(rows[row], ShardId{row}, kTurnNodes);
    const ShardRef other = consensus::ref_of(meant[row], ShardId{row}, kTurnNodes);
    EXPECT_EQ(one.hot().term, other.hot().term) << "row " << row;
    EXPECT_EQ(one.hot().vote, other.hot().vote) << "row " << row;
    EXPECT_EQ(one.log().last, other.log().last) << "row " << row;
    EXPECT_EQ(one.log().commit, other.log().commit) << "row " << row;
    EXPECT_EQ(one.log().run_count, other.log().run_count) << "row " << row;
    EXPECT_EQ(one.storage().persist_from, other.storage().persist_from) << "row " << row;
    EXPECT_EQ(one.configuration().voters, other.configuration().voters) << "row " << row;
    for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
      EXPECT_EQ(one.progress(slot).match, other.progress(slot).match) << "row " << row;
      EXPECT_EQ(one.progress(slot).next, other.progress(slot).next) << "row " << row;
    }
  }
}

TEST(ResidentPool, RowsOfANodeWhosePoolShrankAreWhatTheyWereAndGoOn) {
  PoolWorld world;
  world.turns(3000);
  std::uint32_t moved = 0;
  for (std::uint32_t round = 0; round < 2 * kTurnNodes; ++round) {
    world.turns(2000, round % kTurnNodes);  // Terms pass, and rows are wide for a while.
    world.turns(200);
    for (PoolNode& node : world.nodes) {
      ASSERT_TRUE(node.turn->stop(0).ok());
      const std::vector<RowCopy> rows = rows_of(node);
      const std::uint32_t places = node.memory->view().table.wide.row_count;
      const Status shrunk = node.memory->pools().shrink_wide(32);
      ASSERT_TRUE(shrunk.ok()) << shrunk.to_string();
      expect_same_rows(rows_of(node), rows);
      const PackedTable& table = node.memory->view().table;
      const std::uint32_t used = *node.memory->view().wide_used;
      EXPECT_TRUE(table.wide.row_count == places || 2 * used <= table.wide.row_count);
      moved += table.wide.row_count < places ? used : 0;
      ASSERT_TRUE(node.memory->go_on().ok());
      ASSERT_TRUE(node.turn->start().ok());
    }
  }
  EXPECT_GT(moved, 0u);
  world.turns(4000);
  EXPECT_EQ(world.led_by(0) + world.led_by(1) + world.led_by(2), kShape.shard_count);
  for (const PoolNode& node : world.nodes) {
    EXPECT_EQ(*node.memory->view().table.exhausted, 0u);
  }
}

}  // namespace
}  // namespace gcoord::server
