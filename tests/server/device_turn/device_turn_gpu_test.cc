// The turn of three nodes on devices: elections by real timers, commits, and a node whose kernel is
// aborted. All three share the first device; where there are more, they are spread over them. Needs
// a GPU; where there is none, every case says so and is skipped. Every kernel leaves by itself
// after 20 seconds: under a sanitizer it does not see its abort word before.
#include "chaos/device_turn/turn_device.h"
#include "common/random.h"
#include "netcore/device/gpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

using chaos::GraphNode;
using chaos::PersistentNode;
using chaos::TurnCluster;
using chaos::TurnClusterOptions;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLifeNs = 20'000'000'000;
// Until what is expected has to have come; nothing waits so long where all is well.
constexpr std::chrono::seconds kPatience{20};

// A client on the host, in the rings of one node's first lane.
class HostClient {
 public:
  explicit HostClient(const netcore::GpuChannelDevice& end)
      : to_(netcore::open_sender(end, netcore::Band::Rpc, 0)),
        from_(netcore::open_receiver(end, netcore::Band::Rpc, 0)) {}

  void ask(std::uint32_t shard, std::uint64_t tag, std::uint64_t word) {
    TurnRequest request;
    request.shard = ShardId{shard};
    request.tag = tag;
    request.word[0] = word;
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &request, sizeof words);
    const netcore::Reservation place = to_.reserve(1);
    ASSERT_EQ(place.slot_count, 1u);
    to_.publish(place, [&words](std::uint32_t, std::uint32_t at) { return words[at]; });
  }

  std::optional<TurnReply> take() {
    const auto until = Clock::now() + kPatience;
    netcore::SlotTile tile;
    while (tile.slot_count == 0 && Clock::now() < until) {
      tile = from_.poll(1);
    }
    if (tile.slot_count == 0) {
      return std::nullopt;
    }
    std::uint32_t words[netcore::kSlotWords];
    tile.for_each_word(
        [&words](std::uint32_t, std::uint32_t at, std::uint32_t value) { words[at] = value; });
    from_.release(tile);
    TurnReply reply;
    std::memcpy(static_cast<void*>(&reply), words, sizeof reply);
    return reply;
  }

 private:
  netcore::LaneSender to_;
  netcore::LaneReceiver from_;
};

class DeviceTurnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto count = netcore::gpu_count();
    if (!count.ok()) {
      GTEST_SKIP() << count.status().to_string();
    }
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      devices_[n] = static_cast<int>(n % count.value());
    }
  }

  static TurnClusterOptions options() {
    TurnClusterOptions options;
    options.shape = {.shard_count = 3000,
                     .stripe_count = 16,
                     .log_slots = 64,
                     .entries_max = 16,
                     .wide_count = 512};
    options.timing.tick_ns = 100'000;
    options.timing.limits = {
        .window_entries = 16, .uncommitted_entries = 16, .message_entries = 16};
    options.seed = 12;
    return options;
  }

  void open(const TurnClusterOptions& options = DeviceTurnGpu::options()) {
    auto made = chaos::make_device_turn_cluster(options, devices_);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    cluster_ = std::move(made).value();
  }

  void start_all() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      auto node = PersistentNode::start(*cluster_, n, devices_[n], kLifeNs);
      ASSERT_TRUE(node.ok()) << node.status().to_string();
      nodes_[n] = std::move(node).value();
    }
  }

  // Stops a node and waits until its kernel has left.
  void stop(std::uint32_t n) {
    ASSERT_TRUE(cluster_->abort(n).ok());
    const Status left = nodes_[n]->join();
    ASSERT_TRUE(left.ok()) << left.to_string();
  }

  void stop_all() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      stop(n);
    }
  }

  static void wait_ms(std::int64_t milliseconds) {
    const auto until = Clock::now() + std::chrono::milliseconds{milliseconds};
    while (Clock::now() < until) {
    }
  }

  std::uint64_t led(std::uint32_t n) {
    const auto counts = cluster_->counts(n);
    EXPECT_TRUE(counts.ok()) << counts.status().to_string();
    return counts.ok() ? counts.value().sum.led : 0;
  }

  void expect_sane(std::uint32_t n) {
    const auto counts = cluster_->counts(n);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts.value().sum.unsent, 0u);
  }

  // Replicas that applied as much agree; commands of the replica that applied most.
  std::uint64_t agreed(const std::vector<std::uint32_t>& nodes) {
    std::vector<std::vector<chaos::CountedRow>> rows;
    for (const std::uint32_t n : nodes) {
      auto copied = cluster_->service_rows(n);
      if (!copied.ok()) {
        ADD_FAILURE() << copied.status().to_string();
        return 0;
      }
      rows.push_back(std::move(copied).value());
    }
    std::uint64_t sum = 0;
    for (std::size_t row = 0; row < rows[0].size(); ++row) {
      std::uint64_t most = 0;
      for (const auto& one : rows) {
        most = std::max(most, one[row].count);
        for (const auto& other : rows) {
          EXPECT_TRUE(one[row].count != other[row].count || one[row].digest == other[row].digest)
              << "shard " << row;
        }
      }
      sum += most;
    }
    return sum;
  }

  // Of each row as many commands and the same.
  void expect_equal(std::uint32_t n, std::uint32_t other) {
    const auto one = cluster_->service_rows(n);
    const auto two = cluster_->service_rows(other);
    ASSERT_TRUE(one.ok() && two.ok());
    for (std::size_t row = 0; row < one.value().size(); ++row) {
      EXPECT_EQ(one.value()[row].count, two.value()[row].count) << row;
    }
  }

  // Of all nodes, which may run.
  PageCounts pages() {
    PageCounts sum;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const auto counts = cluster_->page_counts(n);
      EXPECT_TRUE(counts.ok()) << counts.status().to_string();
      sum.taken += counts.ok() ? counts.value().taken : 1;
      sum.refused += counts.ok() ? counts.value().refused : 0;
    }
    return sum;
  }

  // Until a wish for a log page found none.
  bool pools_run_dry() {
    const auto until = Clock::now() + kPatience;
    while (pages().refused == 0 && Clock::now() < until) {
    }
    return pages().refused != 0;
  }

  // Until no row of any node has held a log page for longer than rows wait for a leader.
  bool comes_to_rest() {
    const auto until = Clock::now() + kPatience;
    std::uint32_t quiet = 0;
    while (quiet < 20 && Clock::now() < until) {
      wait_ms(10);
      quiet = pages().taken == 0 ? quiet + 1 : 0;
    }
    return quiet == 20;
  }

  std::array<int, kTurnNodes> devices_{};
  std::unique_ptr<TurnCluster> cluster_;
  std::unique_ptr<PersistentNode> nodes_[kTurnNodes];
};

TEST_F(DeviceTurnGpu, ElectsByRealTimersCommitsLosesANodeAndGoesOn) {
  open();
  start_all();
  wait_ms(300);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(cluster_->feed(n, 4).ok());
  }
  wait_ms(100);
  stop(1);
  const std::uint64_t lost_led = led(1);
  EXPECT_GT(lost_led, 500u);
  wait_ms(300);
  for (const std::uint32_t n : {0u, 2u}) {
    ASSERT_TRUE(cluster_->feed(n, 0).ok());
  }
  wait_ms(200);
  stop(0);
  stop(2);
  EXPECT_EQ(led(0) + led(2), 3000u);
  EXPECT_GT(agreed({0, 1, 2}), 100'000u);
  expect_equal(0, 2);
  expect_sane(0);
  expect_sane(2);
}

TEST_F(DeviceTurnGpu, TheGraphDriverDoesTheSame) {
  open();
  std::unique_ptr<GraphNode> graphs[kTurnNodes];
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    auto graph = GraphNode::make(*cluster_, n, devices_[n]);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    graphs[n] = std::move(graph).value();
  }
  const auto turns = [&](std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      for (auto& graph : graphs) {
        const Status queued = graph->run(1);
        ASSERT_TRUE(queued.ok()) << queued.to_string();
      }
    }
    for (auto& graph : graphs) {
      const Status joined = graph->join();
      ASSERT_TRUE(joined.ok()) << joined.to_string();
    }
  };
  const auto until = Clock::now() + kPatience;
  do {
    turns(500);
  } while (led(0) + led(1) + led(2) != 3000u && Clock::now() < until);
  EXPECT_EQ(led(0) + led(1) + led(2), 3000u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(cluster_->feed(n, 4).ok());
  }
  turns(1000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(cluster_->feed(n, 0).ok());
  }
  turns(2000);
  EXPECT_GT(agreed({0, 1, 2}), 10'000u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    expect_sane(n);
  }
}

TEST_F(DeviceTurnGpu, AHostClientIsAnsweredThroughItsRings) {
  open();
  start_all();
  constexpr std::uint32_t kShards = 30;
  std::vector<HostClient> clients;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    clients.emplace_back(cluster_->client(n));
  }
  std::array<bool, kShards> committed{};
  std::uint64_t tag = 0;
  const auto until = Clock::now() + kPatience;
  while (std::ranges::count(committed, true) < kShards && Clock::now() < until) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      for (std::uint32_t n = 0; n < kTurnNodes && !committed[shard]; ++n) {
        ++tag;
        clients[n].ask(shard, tag, mix64(tag));
        const auto reply = clients[n].take();
        ASSERT_TRUE(reply) << "shard " << shard << " node " << n;
        EXPECT_EQ(reply->tag, tag);
        committed[shard] = reply->verdict == TurnVerdict::Committed;
      }
    }
  }
  EXPECT_EQ(std::ranges::count(committed, true), kShards);
  stop_all();
  EXPECT_GE(agreed({0, 1, 2}), kShards);
}

// Up to six at a time, alone in their turns, beside each other and for rows that others lead or
// that are not of this lane; every one is answered once, and its ring goes round many times.
TEST_F(DeviceTurnGpu, RequestsThatComeTogetherAreAnsweredOnceEach) {
  open();
  start_all();
  wait_ms(300);
  HostClient client{cluster_->client(0)};
  std::vector<std::uint32_t> answers(1, 1);  // By tag; there is no tag 0.
  std::uint64_t committed = 0;
  for (std::uint32_t round = 0; round < 500 && !HasFailure(); ++round) {
    const std::uint64_t together = 1 + random64(16, 0, round) % 6;
    for (std::uint64_t k = 0; k < together; ++k) {
      const std::uint64_t word = random64(16, 1 + k, round);
      const bool foreign = word % 8 == 0;
      client.ask(foreign ? 2999 : static_cast<std::uint32_t>(word / 8 % 30), answers.size(), word);
      answers.push_back(0);
    }
    for (std::uint64_t came = 0; came < together; ++came) {
      const auto reply = client.take();
      ASSERT_TRUE(reply) << "round " << round << ", answer " << came;
      ASSERT_LT(reply->tag, answers.size());
      ++answers[reply->tag];
      committed += reply->verdict == TurnVerdict::Committed ? 1 : 0;
    }
  }
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 1u),
            static_cast<std::ptrdiff_t>(answers.size()));
  EXPECT_GT(committed, 100u);
  stop_all();
  EXPECT_EQ(agreed({0, 1, 2}), committed);
}

// With a log page for one row in twelve, and commands for all: pools run dry, every row is led
// nevertheless, what was decided is the same everywhere, and rows at rest hold no page.
TEST_F(DeviceTurnGpu, PoolsOfLogPagesRunDryAndRowsAtRestHoldNoPage) {
  TurnClusterOptions few = options();
  few.stripe_pages = 16;
  open(few);
  start_all();
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(cluster_->feed(n, 4).ok());
  }
  ASSERT_TRUE(pools_run_dry());
  wait_ms(200);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(cluster_->feed(n, 0).ok());
  }
  ASSERT_TRUE(comes_to_rest());
  stop_all();
  EXPECT_EQ(led(0) + led(1) + led(2), 3000u);
  EXPECT_GT(agreed({0, 1, 2}), 3000u);
  expect_equal(0, 1);
  expect_equal(0, 2);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    expect_sane(n);
  }
}

}  // namespace
}  // namespace gcoord::server
