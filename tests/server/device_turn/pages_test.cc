// Log pages on demand, by the host twin of a device's turn.
#include "server/device_turn/pages.h"

#include "server/device_turn/page_pool.h"
#include "tests/server/device_turn/pages_scenarios.h"

#include <gtest/gtest.h>

#include <map>

namespace gcoord::server {
namespace {

struct Hosts {
  using Node = HostNode;
  static constexpr DryNodes kDry{.seeds = 12, .rounds = 40, .turns_to_rest = 24'000};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurn, PagesOfNodes, Hosts);

TEST(LogPages, LeadersLeaveMoreThanAppendsDoAndAppendsLeaveSomeToTheSurvivorsOfANode) {
  for (const std::uint32_t pages : {4u, 16u, 32u, 100u, 4096u}) {
    const std::uint32_t lead = page_floor(pages, PageWish::Lead, true);
    const std::uint32_t append = page_floor(pages, PageWish::Append, true);
    EXPECT_LT(lead, pages);
    EXPECT_GT(lead, append);
    EXPECT_GT(append, page_floor(pages, PageWish::Append, false));
    EXPECT_EQ(page_floor(pages, PageWish::Append, false), 0u);
    EXPECT_TRUE(few_pages(pages, lead));
  }
  EXPECT_EQ(page_floor(4096, PageWish::Lead, true), 4096u / 8);
}

TEST(LogPages, APoolThatIsShortIsOneThatTwoLooksAtEachPageDidNotHelp) {
  PageStripe stripe;
  stripe.free_count = 4;
  stripe.visited = 63;
  EXPECT_FALSE(lacks_pages(32, stripe));
  stripe.visited = 64;
  EXPECT_TRUE(lacks_pages(32, stripe));
  stripe.free_count = 5;
  EXPECT_FALSE(lacks_pages(32, stripe));
}

TEST(LogPages, AMillionShardsBeginWithAPageForOneInAHundredAndTwentyEight) {
  TurnShape shape;
  shape.shard_count = 1u << 20;
  shape.stripe_count = 256;
  EXPECT_EQ(first_stripe_pages(shape), kTurnPlaces);
  shape.stripe_count = 64;
  EXPECT_EQ(first_stripe_pages(shape), 128u);
  shape.shard_count = 100;
  shape.stripe_count = 16;
  EXPECT_EQ(first_stripe_pages(shape), 8u) << "one for each row";
}

TEST(LogPages, APoolIsTooLargeOnceLessThanAnEighthIsTaken) {
  EXPECT_EQ(shrunk_stripe_pages(128, 16, 32), 0u);
  EXPECT_EQ(shrunk_stripe_pages(128, 15, 32), 32u);
  EXPECT_EQ(shrunk_stripe_pages(512, 60, 32), 120u);
  EXPECT_EQ(shrunk_stripe_pages(64, 0, 32), 0u) << "it would go up and down";
}

// --- The pool alone

constexpr TurnShape kShape{
    .shard_count = 64, .stripe_count = 2, .log_slots = 32, .entries_max = 16, .wide_count = 32};

class PagePoolTest : public testing::Test {
 protected:
  using Service = chaos::CountingService;
  using Node = TurnNode<Service>;

  void SetUp() override {
    auto range = registry_.allocate(netcore::MemoryKind::Private, turn_node_bytes<Service>(kShape));
    ASSERT_TRUE(range.ok());
    RangeArena arena(range.value());
    node_ = carve_turn_node<Service>(arena, kShape);
  }

  // The row's page, with something in it that only this row would write.
  void hold(std::uint32_t row) {
    hold_page(node_.pages, stripe_of(kShape, ShardId{row}), row);
    node_.entry(row, LogIndex{row % 7}) = {{row, 1000 + row}};
    node_.origin_in(node_.pages.of_row[row], LogIndex{3}) = 5 + row;
  }

  void expect_held(std::uint32_t row) {
    ASSERT_NE(node_.pages.of_row[row], kNoLogPage) << row;
    EXPECT_EQ(node_.pages.owner[node_.pages.of_row[row] - 1], 1 + row);
    EXPECT_EQ(node_.entry(row, LogIndex{row % 7}).word[1], 1000 + row);
    EXPECT_EQ(node_.origin_in(node_.pages.of_row[row], LogIndex{3}), 5 + row);
  }

  // Pages that a stripe can still give, each of them once.
  std::uint32_t free_pages(std::uint32_t stripe) {
    std::map<std::uint32_t, std::uint32_t> times;
    for (std::uint32_t at = 0; at < node_.pages.stripe[stripe].free_count; ++at) {
      const std::uint32_t k = node_.pages.free_at(stripe, at);
      EXPECT_LT(k, node_.pages.stripe_pages);
      EXPECT_EQ(++times[k], 1u);
      EXPECT_EQ(node_.pages.owner[node_.pages.name_of(stripe, k) - 1], 0u);
    }
    return node_.pages.stripe[stripe].free_count;
  }

  netcore::MemoryRegistry registry_{netcore::make_host_memory()};
  PagePool<Service> pool_{registry_};
  Node node_;
};

TEST_F(PagePoolTest, GrowsWithAllThatIsTakenAndGivesTheOldMemoryBack) {
  ASSERT_TRUE(pool_.open(node_, 4).ok());
  for (const std::uint32_t row : {1u, 5u, 31u, 32u, 63u}) {
    hold(row);
  }
  const std::size_t ranges = registry_.ranges().size();
  ASSERT_TRUE(pool_.resize(node_, 16).ok());
  EXPECT_EQ(registry_.ranges().size(), ranges);
  for (const std::uint32_t row : {1u, 5u, 31u, 32u, 63u}) {
    expect_held(row);
  }
  EXPECT_EQ(free_pages(0), 13u);
  EXPECT_EQ(free_pages(1), 14u);
  const PageCounts counts = pool_.counts(node_).value();
  EXPECT_EQ(counts.pages, 32u);
  EXPECT_EQ(counts.taken, 5u);
  EXPECT_EQ(counts.taken_most, 3u);
}

TEST_F(PagePoolTest, ShrinksAroundPagesThatLieBehindItsEnd) {
  ASSERT_TRUE(pool_.open(node_, 32).ok());
  for (std::uint32_t row = 0; row < kShape.shard_count; ++row) {
    hold(row);
  }
  // All but the rows with the last pages are done with theirs.
  for (std::uint32_t row = 0; row < kShape.shard_count; ++row) {
    if (row % 32 < 29) {
      const std::uint32_t page = node_.pages.of_row[row];
      PageStripe& stripe = node_.pages.stripe[row / 32];
      node_.pages.free_at(row / 32, stripe.free_count++) = (page - 1) / kShape.stripe_count;
      node_.pages.owner[page - 1] = 0;
      node_.pages.of_row[row] = kNoLogPage;
    }
  }
  EXPECT_EQ(pool_.resize(node_, 2).code(), StatusCode::FailedPrecondition);
  expect_held(31);
  ASSERT_TRUE(pool_.resize(node_, 5).ok());
  for (const std::uint32_t row : {29u, 30u, 31u, 61u, 62u, 63u}) {
    expect_held(row);
  }
  EXPECT_EQ(free_pages(0), 2u);
  EXPECT_EQ(free_pages(1), 2u);
  hold(7);
  expect_held(7);
  expect_held(31);
}

TEST_F(PagePoolTest, PagesThatContradictTheirRowsAreBelievedByNobody) {
  ASSERT_TRUE(pool_.open(node_, 8).ok());
  hold(3);
  const std::uint32_t page = node_.pages.of_row[3];
  for (const std::uint32_t owner : {5u, 64u + 1, ~0u, 33u + 1}) {
    node_.pages.owner[page - 1] = owner;
    const Status status = pool_.resize(node_, 16);
    EXPECT_EQ(status.code(), StatusCode::Internal) << owner;
    EXPECT_EQ(node_.pages.stripe_pages, 8u);
  }
  node_.pages.owner[page - 1] = 1 + 3;
  EXPECT_TRUE(pool_.resize(node_, 16).ok());
}

}  // namespace
}  // namespace gcoord::server
