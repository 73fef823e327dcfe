// The small pure parts: numbers of requests, back-off, the table of operations.
#include "client/dispatch/operation.h"
#include "client/net/backoff.h"
#include "client/net/leader_cache.h"
#include "client/records/sequence_window.h"
#include "client/records/session_record.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;

TEST(SequenceWindow, NumbersRiseAndTheOldestUnansweredHoldsTheAcknowledgement) {
  SequenceWindow window;
  EXPECT_EQ(window.acked_below(), 1u);
  EXPECT_EQ(window.begin(), 1u);
  EXPECT_EQ(window.begin(), 2u);
  EXPECT_EQ(window.begin(), 3u);
  window.end(2);
  EXPECT_EQ(window.acked_below(), 1u);
  window.end(1);
  EXPECT_EQ(window.acked_below(), 3u);
  window.end(3);
  EXPECT_EQ(window.acked_below(), 4u);
}

TEST(SequenceWindow, IsFullBeforeTheShardForgets) {
  SequenceWindow window{100};
  while (!window.full()) {
    window.begin();
  }
  EXPECT_EQ(window.acked_below(), 100u);
  window.end(100 + protocol::kOutstandingMax - 1);
  EXPECT_FALSE(window.full());
  EXPECT_EQ(window.begin(), 100 + protocol::kOutstandingMax);
}

TEST(Backoff, Row74DoublesUpToItsLongestDelay) {
  Backoff backoff{{.min = 8ms, .max = 100ms, .budget = 1000, .seed = 1}};
  for (std::uint32_t attempt = 0; attempt < 40; ++attempt) {
    const TimePoint full = attempt < 4 ? TimePoint{8ms} * (1 << attempt) : TimePoint{100ms};
    const TimePoint delay = backoff.delay(attempt);
    EXPECT_GE(delay, full / 2) << attempt;
    EXPECT_LE(delay, full) << attempt;
  }
}

TEST(Backoff, Row74WithoutBudgetWaitsLongestUntilSuccessesEarnIt) {
  Backoff backoff{{.min = 2ms, .max = 100ms, .budget = 1, .seed = 1}};
  EXPECT_LE(backoff.delay(0), 2ms);
  EXPECT_GE(backoff.delay(0), 50ms);
  for (int success = 0; success < 10; ++success) {
    backoff.on_success();
  }
  EXPECT_LE(backoff.delay(0), 2ms);
  EXPECT_GE(backoff.delay(0), 50ms);
}

TEST(LeaderCache, KnowsWhatItLearnedAndNothingBeyondTheShards) {
  LeaderCache cache;
  cache.learn(ShardId{3}, NodeId{1});
  EXPECT_EQ(cache.leader(ShardId{3}), NodeId{});
  cache.resize(4);
  cache.learn(ShardId{3}, NodeId{2});
  cache.learn(ShardId{9}, NodeId{2});
  EXPECT_EQ(cache.leader(ShardId{3}), NodeId{2});
  EXPECT_EQ(cache.leader(ShardId{9}), NodeId{});
  cache.forget(ShardId{3});
  EXPECT_EQ(cache.leader(ShardId{3}), NodeId{});
}

TEST(LeaderCache, TermsAreTheLastThatWereHeardAndOutliveTheirLeaders) {
  LeaderCache cache;
  cache.resize(4);
  cache.learn_term(ShardId{3}, Term{8});
  cache.learn_term(ShardId{3}, Term{7});
  cache.learn_term(ShardId{3}, Term{});
  cache.learn_term(ShardId{9}, Term{7});
  cache.forget(ShardId{3});
  EXPECT_EQ(cache.term(ShardId{3}), Term{7});
  EXPECT_EQ(cache.term(ShardId{9}), Term{});
}

TEST(OperationTable, DoesNotFindAnOldUseOfAPlace) {
  OperationTable table;
  const std::uint64_t first = table.add(std::make_unique<Operation>());
  EXPECT_NE(table.find(first), nullptr);
  EXPECT_NE(table.take(first), nullptr);
  EXPECT_EQ(table.find(first), nullptr);
  const std::uint64_t second = table.add(std::make_unique<Operation>());
  EXPECT_NE(first, second);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.take(first), nullptr);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.find(~std::uint64_t{0}), nullptr);
}

// What a session that ends is spared looking for among all operations, when it has none.
TEST(OperationTable, CountsWhatEachSessionHasUnderWay) {
  OperationTable table;
  const auto busy = std::make_shared<SessionRecord>();
  const auto idle = std::make_shared<SessionRecord>();
  std::vector<std::uint64_t> ids;
  for (int k = 0; k < 3; ++k) {
    auto operation = std::make_unique<Operation>();
    operation->session = busy;
    ids.push_back(table.add(std::move(operation)));
  }
  table.add(std::make_unique<Operation>());
  EXPECT_EQ(busy->operation_count, 3u);
  EXPECT_EQ(idle->operation_count, 0u);
  EXPECT_NE(table.take(ids[1]), nullptr);
  EXPECT_EQ(table.take(ids[1]), nullptr);
  EXPECT_EQ(busy->operation_count, 2u);
}

}  // namespace
}  // namespace gcoord::client
