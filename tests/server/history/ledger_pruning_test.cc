// Orders to prune as a node takes them: one at a time, answered when they are done.
#include "server/history/ledger_pruning.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

class Replies final : public protocol::ReplySink {
 public:
  struct Reply {
    protocol::ConnectionId connection;
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    all.push_back({connection, slot, {payload.begin(), payload.end()}});
  }

  std::vector<Reply> all;
};

class LedgerPruningTest : public testing::Test {
 protected:
  LedgerPruning make(bool publishes) {
    LedgerPruning::Environment parts{.replies = replies_, .shard_count = 4};
    parts.shards = [this](const ledger::PruneOrder& order, LedgerPruning::Ended ended) {
      return begin(order, std::move(ended));
    };
    if (publishes) {
      parts.cluster = parts.shards;
    }
    parts.wake = [this] { ++wakes_; };
    return LedgerPruning(std::move(parts));
  }

  LedgerPruning::Report begin(const ledger::PruneOrder& order, LedgerPruning::Ended ended) {
    orders_.push_back(order);
    ended_ = std::move(ended);
    promise_ = std::promise<Result<ledger::PruneReport>>{};
    return promise_.get_future();
  }

  void ask(LedgerPruning& pruning, const protocol::LedgerPrune& order) {
    protocol::RequestSlot request;
    request.kind = protocol::RequestKind::LedgerPrune;
    request.request_id = ++asked_;
    pruning.on_request(protocol::ConnectionId{9}, request, protocol::encode_ledger_prune(order));
  }

  std::uint32_t last_detail() const { return replies_.all.back().slot.detail; }

  Replies replies_;
  std::vector<ledger::PruneOrder> orders_;
  LedgerPruning::Ended ended_;
  std::promise<Result<ledger::PruneReport>> promise_;
  std::uint64_t asked_ = 0;
  int wakes_ = 0;
};

TEST_F(LedgerPruningTest, AnswersWhenItIsDoneAndTakesOneAtATime) {
  LedgerPruning pruning = make(true);
  ask(pruning, {.shard = 2, .below = 700, .entries = 5});
  ASSERT_EQ(orders_.size(), 1u);
  EXPECT_EQ(orders_[0].shard, ShardId{2});
  EXPECT_EQ(orders_[0].below, 700u);
  EXPECT_EQ(orders_[0].keep.entries, 5u);
  pruning.advance();
  EXPECT_TRUE(replies_.all.empty());
  ask(pruning, {.shard = protocol::kAllShards, .entries = 5});
  EXPECT_EQ(last_detail(), static_cast<std::uint32_t>(protocol::ErrorCode::LedgerPruneBusy));
  promise_.set_value(ledger::PruneReport{.shards = 1, .entries = 512, .kept = 300});
  ended_();
  EXPECT_EQ(wakes_, 1);
  pruning.advance();
  ASSERT_EQ(replies_.all.size(), 2u);
  EXPECT_EQ(replies_.all[1].slot.request_id, 1u);
  EXPECT_EQ(replies_.all[1].slot.code, StatusCode::Ok);
  const auto pruned = protocol::decode_ledger_pruned(replies_.all[1].payload);
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(pruned.value().entries, 512u);
  EXPECT_EQ(pruned.value().kept, 300u);
  ask(pruning, {.log = protocol::LedgerLog::Cluster, .entries = 5});
  EXPECT_EQ(orders_.size(), 2u);
  EXPECT_FALSE(orders_[1].shard.has_value());
}

TEST_F(LedgerPruningTest, PrunesNothingThatIsNotPermitted) {
  LedgerPruning::Environment parts{.replies = replies_, .shard_count = 4};
  parts.shards = [this](const ledger::PruneOrder& order, LedgerPruning::Ended ended) {
    return begin(order, std::move(ended));
  };
  parts.permits = [](const protocol::LedgerPrune& order) {
    return order.entries == 5 ? Status{} : protocol::make_error(protocol::ErrorCode::PruneWaits);
  };
  LedgerPruning pruning{std::move(parts)};
  ask(pruning, {.shard = 1, .entries = 6});
  EXPECT_EQ(last_detail(), static_cast<std::uint32_t>(protocol::ErrorCode::PruneWaits));
  EXPECT_TRUE(orders_.empty());
  ask(pruning, {.shard = 1, .entries = 5});
  EXPECT_EQ(orders_.size(), 1u);
}

TEST_F(LedgerPruningTest, RefusesWhatCannotBeAndSaysThatTheNodeStops) {
  LedgerPruning pruning = make(false);
  ask(pruning, {.shard = 4, .entries = 5});
  EXPECT_EQ(last_detail(), static_cast<std::uint32_t>(protocol::ErrorCode::LedgerPruneInvalid));
  ask(pruning, {.shard = 1});
  EXPECT_EQ(last_detail(), static_cast<std::uint32_t>(protocol::ErrorCode::LedgerPruneInvalid));
  ask(pruning, {.log = protocol::LedgerLog::Cluster, .entries = 5});
  EXPECT_EQ(last_detail(), static_cast<std::uint32_t>(protocol::ErrorCode::LedgerUnpublished));
  EXPECT_TRUE(orders_.empty());
  ask(pruning, {.shard = 1, .entries = 5});
  promise_ = std::promise<Result<ledger::PruneReport>>{};  // Breaks the one before.
  pruning.advance();
  EXPECT_EQ(replies_.all.back().slot.code, StatusCode::Aborted);
}

}  // namespace
}  // namespace gcoord::server
