// The trees of a node that does not run are those that it would have had.
#include "server/offline/trees.h"

#include "ledger/base/error_details.h"
#include "ledger/history/memory_store.h"
#include "ledger/trees/cpu.h"
#include "server/history/ledger_head.h"
#include "server/interfaces/log_record.h"
#include "server/offline/service.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

constexpr ShardId kShard{1};
constexpr std::uint32_t kShards = 2;

std::vector<std::byte> record(std::uint64_t index) {
  std::vector<std::byte> bytes;
  put_record_header(bytes, {RecordKind::Publication, protocol::RecordOrigin::System, index});
  return bytes;
}

AppliedEntry entry(std::uint64_t index, std::span<const std::byte> payload) {
  return {.shard = kShard, .index = LogIndex{index}, .term = Term{1}, .payload = payload};
}

class OfflineTreesTest : public testing::Test {
 protected:
  // The history of a node that was told of so many entries.
  std::shared_ptr<ledger::History> history(std::uint64_t count) {
    ledger::HistoryOptions options;
    options.shard_count = kShards;
    auto made = ledger::History::open(options, ledger::make_cpu_merkle_device(), *store_);
    EXPECT_TRUE(made.ok());
    auto batch = std::make_shared<ledger::HistoryEntries>();
    for (std::uint64_t k = 0; k < count; ++k) {
      batch->add(kShard, k, record(k + 1));
    }
    EXPECT_TRUE(made.value()->append(batch).ok());
    return std::move(made).value();
  }

  static ledger::MerkleFrontier frontier_in(const ledger::History& history) {
    const std::uint32_t shard = kShard.value;
    return history.frontiers({&shard, 1}).value().front();
  }

  static std::vector<std::byte> checkpoint(std::uint64_t size) {
    std::vector<std::byte> bytes;
    put_ledger_head(bytes, {LedgerHeadKind::Checkpoint, 0, size});
    return bytes;
  }

  ledger::HistoryMedium medium_;
  const std::unique_ptr<ledger::HistoryStore> store_ = ledger::open_memory_history_store(medium_);
  OfflineService service_{kShards};
};

TEST_F(OfflineTreesTest, EntriesBehindTheCheckpointGrowTheTreeThatHistoryHas) {
  // It may be ahead of the checkpoint.
  const auto known = history(700);
  OfflineTrees trees(service_, known, kShards);
  ASSERT_TRUE(trees.install(kShard, checkpoint(600)).ok());
  for (std::uint64_t index = 601; index <= 700; ++index) {
    const auto payload = record(index);
    trees.apply(entry(index, payload));
  }
  ASSERT_TRUE(trees.failure().ok()) << trees.failure().to_string();
  EXPECT_EQ(trees.frontier(kShard).value(), frontier_in(*known));
  EXPECT_EQ(trees.frontier(ShardId{0}).value(), ledger::MerkleFrontier{});
  EXPECT_EQ(known->size(kShard), 700u);
}

TEST_F(OfflineTreesTest, ACheckpointThatHistoryDoesNotReachIsDamage) {
  OfflineTrees trees(service_, history(10), kShards);
  ASSERT_TRUE(trees.install(kShard, checkpoint(11)).ok());
  EXPECT_EQ(trees.frontier(kShard).status().detail(), ledger::kHistoryGap);
}

TEST_F(OfflineTreesTest, AnEntryThatDoesNotFollowIsDamage) {
  OfflineTrees trees(service_, history(0), kShards);
  const auto payload = record(2);
  trees.apply(entry(2, payload));
  EXPECT_EQ(trees.failure().detail(), ledger::kHistoryGap);
}

TEST_F(OfflineTreesTest, AStateWithoutAHeadIsRefused) {
  OfflineTrees trees(service_, history(0), kShards);
  const std::vector<std::byte> bytes(20, std::byte{7});
  EXPECT_FALSE(trees.install(kShard, bytes).ok());
  EXPECT_FALSE(trees.plausible(kShard, bytes));
}

}  // namespace
}  // namespace gcoord::server
