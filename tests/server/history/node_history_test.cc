// How much history a node lets come together before it is written, by the cluster's durability.
#include "ledger/history/memory_store.h"
#include "server/history/history.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Appends entries of about so many bytes together, and counts the flushes that began by themselves.
std::uint64_t flushes_of(bool durable, std::size_t bytes) {
  ToyService inner;
  ledger::HistoryMedium medium;
  NodeHistoryOptions options;
  options.durable = durable;
  options.driver = ledger::StorageDriver::Owner;
  NodeHistory history(std::move(options), inner);
  EXPECT_TRUE(history.open(ledger::open_memory_history_store(medium)).ok());
  const std::vector<std::byte> leaf(ledger::kEntryBytesMax - 100);
  std::uint64_t index = 0;
  while (index * leaf.size() < bytes) {
    auto batch = std::make_shared<ledger::HistoryEntries>();
    while (!batch->full()) {
      batch->add(ShardId{0}, index++, leaf);
    }
    history.worker().append(batch);
  }
  EXPECT_TRUE(history.worker().failure().ok()) << history.worker().failure().to_string();
  const std::uint64_t flushes = history.worker().history()->counts().flushes;
  // What waits for it is durable all the same, and nothing is left then.
  EXPECT_TRUE(history.settle().ok());
  EXPECT_EQ(history.worker().history()->counts().flushes, flushes + 1);
  EXPECT_EQ(history.worker().history()->pending_bytes(), 0u);
  return flushes;
}

TEST(NodeHistory, WritesHalfAsOftenInMemoryMode) {
  EXPECT_EQ(flushes_of(true, 40 * kMiB), 0u);
  EXPECT_EQ(flushes_of(true, 60 * kMiB), 1u);
  EXPECT_EQ(flushes_of(false, 60 * kMiB), 0u);
  EXPECT_EQ(flushes_of(false, 100 * kMiB), 1u);
}

}  // namespace
}  // namespace gcoord::server
