// Three real nodes whose clients use shared memory and TCP, and clients that misuse that memory
// beside them: no answer is wrong, no node ends, and what cannot be is counted. A short slice of
// `gcoord chaos live --transport mixed`.
#include "chaos/demo/checked_load.h"
#include "chaos/process/metrics_page.h"
#include "chaos/process/own_path.h"
#include "chaos/process/run_times.h"
#include "chaos/rings/attackers.h"
#include "chaos/rings/client_way.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::chaos {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kClients = 3;  // One by shared memory, one by TCP, one by both.
constexpr std::chrono::milliseconds kLoad{3000};
constexpr std::chrono::milliseconds kAttack{2000};
constexpr std::chrono::seconds kPatience{60};

TEST(ClientWay, NamesAreReadAsTheyAreWritten) {
  for (const ClientWay way : {ClientWay::Tcp, ClientWay::Shm, ClientWay::Mixed}) {
    EXPECT_EQ(client_way_of(client_way_name(way)), way);
  }
  EXPECT_FALSE(client_way_of("udp").has_value());
  for (const RingAttack attack :
       {RingAttack::Scribble, RingAttack::DieInWrite, RingAttack::NeverRead}) {
    EXPECT_EQ(ring_attack_of(ring_attack_name(attack)), attack);
  }
}

TEST(MetricsPage, SamplesAreSummedByTheBeginningOfTheirLines) {
  constexpr std::string_view kPage =
      "# HELP a_total What a is.\n"
      "a_total{reason=\"ring\"} 2\n"
      "a_total{reason=\"bells\"} 3\n"
      "a_total_more 100\n"
      "b 1.5e3";
  EXPECT_EQ(sum_of_samples(kPage, "a_total{"), 5u);
  EXPECT_EQ(sum_of_samples(kPage, "a_total{reason=\"bells\"}"), 3u);
  EXPECT_EQ(sum_of_samples(kPage, "b "), 1500u);
  EXPECT_EQ(sum_of_samples(kPage, "c "), 0u);
  EXPECT_EQ(sum_of_samples("", "b "), 0u);
}

class RingAttackTest : public testing::Test {
 protected:
  void SetUp() override {
    LocalClusterOptions options;
    options.program = program_beside("gcoordd");
    options.directory = folder_.path();
    options.node_count = kNodes;
    options.shards = 8;
    options.trace = true;
    options.node_arguments = {"--durability", "memory"};
    auto planned = LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kRunTimes.start);
    ASSERT_TRUE(started.ok()) << started.to_string();
  }

  std::string chaos() const { return program_beside("gcoord-chaos").string(); }

  RingMetrics metrics(std::uint32_t node) const {
    const auto read = read_ring_metrics(cluster_->metrics_port(node));
    EXPECT_TRUE(read.ok()) << read.status().to_string();
    return read.ok() ? read.value() : RingMetrics{};
  }

  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      sum += metrics(node).refused();
    }
    return sum;
  }

  // In every node.
  RingAttackers attack_by(RingAttack attack) const {
    RingAttackers attackers{{chaos(), "live", "ring-client"}};
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const Status started = attackers.start({.path = ring_path(*cluster_, node).string(),
                                              .attack = attack,
                                              .seed = node,
                                              .length = kAttack});
      EXPECT_TRUE(started.ok()) << started.to_string();
    }
    return attackers;
  }

  static RingAttackCounts counts_of(RingAttackers& attackers) {
    const auto counts = attackers.await_ends(kPatience);
    EXPECT_TRUE(counts.ok()) << counts.status().to_string();
    return counts.ok() ? counts.value() : RingAttackCounts{};
  }

  // Until a node has given up the rings of those that have gone.
  bool rings_are_at_most(std::uint64_t count) const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      while (metrics(node).clients > count) {
        if (std::chrono::steady_clock::now() > until) {
          return false;
        }
      }
    }
    return true;
  }

  const ScratchFolder folder_;
  std::optional<LocalCluster> cluster_;
};

TEST_F(RingAttackTest, AttackersLoseTheirConnectionsAndNobodyElseLosesAnything) {
  CheckedLoad load({.worker_command = {chaos(), "live", "worker"},
                    .directory = folder_.path(),
                    .clients = kClients,
                    .rate = 300,
                    .seed = 7,
                    .length = kLoad});
  const Status started = load.start(
      [this](std::uint32_t number) { return endpoints_of(*cluster_, ClientWay::Mixed, number); });
  ASSERT_TRUE(started.ok()) << started.to_string();
  const std::uint64_t refused_before = refused();
  RingAttackers scribble = attack_by(RingAttack::Scribble);
  RingAttackers die = attack_by(RingAttack::DieInWrite);
  RingAttackers unread = attack_by(RingAttack::NeverRead);
  const RingAttackCounts scribbled = counts_of(scribble);
  EXPECT_GE(scribbled.rings, kNodes);
  EXPECT_GT(scribbled.ended, 0u);
  EXPECT_GT(refused(), refused_before);
  EXPECT_GE(counts_of(die).rings, kNodes);
  const RingAttackCounts unheard = counts_of(unread);
  EXPECT_GE(unheard.rings, kNodes);
  EXPECT_LE(unheard.held_back, unheard.rings) << "connections, however often";
  EXPECT_TRUE(rings_are_at_most(kClients));
  const Status ended = load.await_ends();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(cluster_->stop_all(kRunTimes.stop), kNodes) << "a node fell to a client";
  History histories;
  ASSERT_TRUE(load.read(histories).ok());
  EXPECT_GT(histories.operations.size(), 100u);
  const auto summary = judge_run(*cluster_, histories);
  ASSERT_TRUE(summary.ok()) << summary.status().to_string();
  EXPECT_EQ(summary.value().verdict, Verdict::Ok) << to_text(summary.value());
}

}  // namespace
}  // namespace gcoord::chaos
