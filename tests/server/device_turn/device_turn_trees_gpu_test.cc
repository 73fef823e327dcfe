// Merkle trees that follow the turns of three nodes on devices: every replica's trees hold all that
// was decided, with the roots of the CPU's trees over the same entries. All three share the first
// device; where there are more, they are spread over them. Needs a GPU; where there is none, every
// case says so and is skipped. Every kernel leaves by itself after five seconds.
#include "chaos/device_turn/tree_check.h"
#include "chaos/device_turn/tree_device.h"
#include "chaos/device_turn/turn_device.h"
#include "netcore/device/gpu_device.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>

namespace gcoord::server {
namespace {

using chaos::HashingNode;
using chaos::PersistentNode;
using chaos::TurnCluster;
using chaos::TurnClusterOptions;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLifeNs = 5'000'000'000;
constexpr std::uint32_t kShards = 3000;

class DeviceTurnTreesGpu : public testing::Test {
 protected:
  void SetUp() override {
    chaos::ask_for_queues();
    const auto count = netcore::gpu_count();
    if (!count.ok()) {
      GTEST_SKIP() << count.status().to_string();
    }
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      devices_[n] = static_cast<int>(n % count.value());
    }
  }

  void start(std::uint32_t hash_blocks) {
    TurnClusterOptions options;
    options.shape = {.shard_count = kShards,
                     .stripe_count = 128,
                     .block_stripes = 8,
                     .log_slots = 64,
                     .entries_max = 16,
                     .wide_count = 512};
    options.timing.tick_ns = 100'000;
    options.timing.limits = {
        .window_entries = 16, .uncommitted_entries = 16, .message_entries = 16};
    options.seed = 14;
    options.hash_blocks = hash_blocks;
    auto made = chaos::make_device_turn_cluster(options, devices_);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    cluster_ = std::move(made).value();
    const auto places = chaos::hash_places(devices_, 4);
    ASSERT_TRUE(places.ok()) << places.status().to_string();
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      auto hashing = HashingNode::start(*cluster_, n, places.value()[n], kLifeNs);
      ASSERT_TRUE(hashing.ok()) << hashing.status().to_string();
      hashing_[n] = std::move(hashing).value();
    }
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      auto node = PersistentNode::start(*cluster_, n, devices_[n], kLifeNs);
      ASSERT_TRUE(node.ok()) << node.status().to_string();
      nodes_[n] = std::move(node).value();
    }
  }

  void feed(std::uint32_t batch) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ASSERT_TRUE(cluster_->feed(n, batch).ok());
    }
  }

  static void wait_ms(std::int64_t milliseconds) {
    const auto until = Clock::now() + std::chrono::milliseconds{milliseconds};
    while (Clock::now() < until) {
    }
  }

  void stop_all() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ASSERT_TRUE(cluster_->abort(n).ok());
      const Status left = nodes_[n]->join();
      ASSERT_TRUE(left.ok()) << left.to_string();
    }
    for (auto& one : hashing_) {
      const Status left = one->finish();
      ASSERT_TRUE(left.ok()) << left.to_string();
    }
  }

  void expect_trees() {
    const auto verdict = chaos::check_trees(*cluster_, {.threads = 4});
    ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
    EXPECT_EQ(verdict.value().shards + verdict.value().without_tree, kShards);
    EXPECT_EQ(verdict.value().without_tree, 0u);
    EXPECT_GT(verdict.value().hashed_again, kShards * 9 / 10);
    EXPECT_GT(verdict.value().leaves, 10u * kShards);
    std::uint64_t held = 0;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const auto counts = cluster_->follow_counts(n);
      ASSERT_TRUE(counts.ok());
      EXPECT_EQ(counts.value().leaves, verdict.value().leaves);
      held += cluster_->counts(n).value().sum.held;
    }
    RecordProperty("leaves", std::to_string(verdict.value().leaves));
    RecordProperty("held", std::to_string(held));
  }

  std::array<int, kTurnNodes> devices_{};
  std::unique_ptr<TurnCluster> cluster_;
  std::unique_ptr<PersistentNode> nodes_[kTurnNodes];
  std::unique_ptr<HashingNode> hashing_[kTurnNodes];
};

TEST_F(DeviceTurnTreesGpu, EveryReplicaHasTheRootsOfTheCpusTreesOverWhatWasDecided) {
  start(32);
  wait_ms(300);
  for (const std::uint32_t batch : {1u, 4u, 16u}) {
    feed(batch);
    wait_ms(20);
  }
  feed(0);
  wait_ms(200);
  stop_all();
  expect_trees();
}

// One block hashes for each node, which cannot keep pace: leaders hold back, and nothing is lost.
TEST_F(DeviceTurnTreesGpu, LeadersHoldBackForTreesThatCannotKeepPace) {
  start(1);
  wait_ms(300);
  feed(16);
  wait_ms(100);
  feed(0);
  wait_ms(300);
  stop_all();
  expect_trees();
}

}  // namespace
}  // namespace gcoord::server
