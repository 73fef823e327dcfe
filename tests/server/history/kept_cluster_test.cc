// History behind the services of three engines: the same trees on every node, through snapshots,
// kills and restarts.
#include "ledger/history/memory_store.h"
#include "ledger/merkle/tree_proof.h"
#include "server/history/history.h"
#include "server/history/ledger_service.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

// Three engines with their histories; a thread of each does the hashing.
class Histories {
 public:
  explicit Histories(std::uint32_t shard_count) : cluster(3, shard_count) {
    cluster.between = [this](EngineCluster::Node& node, ReplicaOptions& engine) -> StateMachine& {
      NodeHistoryOptions options;
      options.shard_count = engine.shard_count;
      auto history = std::make_shared<NodeHistory>(std::move(options), *node.service);
      node.beside = history;
      auto& medium = media[node.id.value - 1];
      engine.on_directory = [history = history.get(), &medium] {
        return history->open(ledger::open_memory_history_store(medium));
      };
      engine.before_checkpoint = [history = history.get()] { return history->settle(); };
      return history->service();
    };
    cluster.after_turn = [this](EngineCluster::Node& node) {
      const Status status = history(node.id.value).end_turn(true);
      EXPECT_TRUE(status.ok()) << status.message();
    };
  }

  void start(std::uint32_t id) {
    cluster.start(id);
    history(id).recovered();
  }

  NodeHistory& history(std::uint32_t id) {
    return *static_cast<NodeHistory*>(cluster.node(id).beside.get());
  }

  // Every running node has the same tree of the shard, over all that was applied.
  void expect_equal(std::uint32_t shard) {
    std::vector<ledger::ShardHead> heads;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      ASSERT_TRUE(history(id).settle().ok());
      const ShardId which{shard};
      const auto& kept = *history(id).worker().history();
      heads.push_back(kept.heads({&which, 1}).value().front());
      EXPECT_EQ(heads.back().size, cluster.engine(id).view(which).applied.value) << id;
      EXPECT_EQ(heads.back(), heads.front()) << id;
      EXPECT_EQ(ledger::root_at(*kept.reader(which), heads.back().size).value(), heads.back().root);
    }
  }

  std::array<ledger::HistoryMedium, 3> media;
  EngineCluster cluster;
};

void propose_all(EngineCluster& cluster, std::uint32_t shard, int first, int count) {
  for (int k = first; k < first + count; ++k) {
    cluster.propose(cluster.leader_of(shard), shard, "command " + std::to_string(k));
    cluster.settle();
  }
}

TEST(KeptCluster, NodesThatWereKilledBetweenHistoryAndCheckpointHaveTheSameTrees) {
  Histories kept(2);
  EngineCluster& cluster = kept.cluster;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    kept.start(id);
  }
  cluster.run_until([&] { return cluster.all_led(); });
  propose_all(cluster, 1, 0, 300);
  // One has history durable and no checkpoint of it, one a checkpoint, one neither.
  ASSERT_TRUE(kept.history(1).settle().ok());
  const std::uint64_t before = cluster.count(2, "gcoord_server_checkpoints_total");
  cluster.engine(2).request_checkpoint();
  cluster.wait_for([&] { return cluster.count(2, "gcoord_server_checkpoints_total") > before; });
  propose_all(cluster, 1, 300, 300);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    cluster.stop(id);
  }
  for (std::uint32_t id = 1; id <= 3; ++id) {
    kept.start(id);
  }
  cluster.run_until([&] { return cluster.all_led(); });
  propose_all(cluster, 1, 600, 50);
  cluster.run_until([&] { return cluster.all_agreed(); });
  kept.expect_equal(0);
  kept.expect_equal(1);
  // Who leads has all of it; another may have been given a snapshot after the restart.
  EXPECT_EQ(kept.history(cluster.leader_of(1)).worker().history()->first(ShardId{1}), 0u);
}

TEST(KeptCluster, AFollowerThatGotASnapshotHasTheSameTreeFromThereOn) {
  Histories kept(1);
  EngineCluster& cluster = kept.cluster;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    kept.start(id);
  }
  cluster.run_until([&] { return cluster.all_led(); });
  propose_all(cluster, 0, 0, 10);
  cluster.run_until([&] { return cluster.all_agreed(); });
  const std::uint32_t lagging = cluster.leader_of(0) % 3 + 1;
  cluster.stop(lagging);
  cluster.run_ms(5000);
  propose_all(cluster, 0, 10, 700);
  kept.start(lagging);
  cluster.run_until([&] { return cluster.all_agreed(); });
  EXPECT_GT(cluster.service(lagging).install_count, 0);
  propose_all(cluster, 0, 710, 20);
  cluster.run_until([&] { return cluster.all_agreed(); });
  kept.expect_equal(0);
  EXPECT_GT(kept.history(lagging).worker().history()->first(ShardId{0}), 10u);
  // And once more after a restart, from what it keeps.
  cluster.stop(lagging);
  kept.start(lagging);
  cluster.run_until([&] { return cluster.all_agreed(); });
  kept.expect_equal(0);
}

}  // namespace
}  // namespace gcoord::server
