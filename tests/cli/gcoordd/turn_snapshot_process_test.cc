// G6 at both turns: a cluster of either turn is saved under load, and comes back from the file as
// another cluster, of its own turn and of the other one.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/gcoordd/applied_everywhere.h"
#include "tests/cli/gcoordd/metric_sum.h"
#include "tests/cli/gcoordd/saved_cluster.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <thread>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 16;

chaos::LocalCluster planned(const std::filesystem::path& place,
                            const std::string& turn,
                            const std::vector<std::string>& more = {}) {
  std::filesystem::create_directories(place);
  chaos::LocalClusterOptions options;
  options.program = chaos::program_beside("gcoordd");
  options.directory = place;
  options.shards = kShards;
  options.node_arguments = {"--election-ms", "1000", "--heartbeat-ms", "50"};
  options.arguments_of_node = turn_of_all(turn, more);
  auto cluster = chaos::LocalCluster::plan(options);
  EXPECT_TRUE(cluster.ok()) << cluster.status().to_string();
  return std::move(cluster).value();
}

void start(chaos::LocalCluster& cluster) {
  const Status started = cluster.start_all(kPatience);
  ASSERT_TRUE(started.ok()) << started.to_string();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (ctl_of(cluster).json({"--timeout", "60s", "lock", "ls"})["complete"] != true) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

class TurnSnapshotNodesTest : public testing::Test {
 protected:
  explicit TurnSnapshotNodesTest(std::string turn) : turn_(std::move(turn)) {}

  void begin(const std::vector<std::string>& more = {}) {
    cluster_.emplace(planned(folder_.path() / "old", turn_, more));
    start(*cluster_);
  }

  std::string file() const { return (folder_.path() / "saved").string(); }

  Ctl ctl() const { return ctl_of(*cluster_); }

  // One lock with a queue, whose end is the cluster's.
  ChildProcess wait_behind(const std::string& name) const {
    ChildProcess waits = ctl().start({"lock", "acquire", name, "--ttl", "1h", "--wait", "1h"});
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (ctl().json({"lock", "get", name, "--waiters"})["waiters"].empty()) {
      EXPECT_LT(std::chrono::steady_clock::now(), deadline);
    }
    return waits;
  }

  // Makes the directories of a cluster of that turn and starts it there.
  chaos::LocalCluster restored(const std::string& turn,
                               const std::vector<std::string>& more = {}) const {
    const std::filesystem::path place = folder_.path() / ("new-" + turn);
    const chaos::LocalCluster unnamed = planned(place, turn, more);
    std::vector<std::string> flags = {"--cluster-id", restore_all(file(), unnamed, turn)};
    flags.insert(flags.end(), more.begin(), more.end());
    chaos::LocalCluster fresh = planned(place, turn, flags);
    start(fresh);
    return fresh;
  }

  // Holds locks with names that have room in an entry and with one that has not.
  void hold(int count) {
    for (int k = 0; k < count; ++k) {
      const std::string name = "held-" + std::to_string(k) + (k == 1 ? std::string(200, 'n') : "");
      held_[name] = calls_.acquire(ctl(), name);
    }
  }

  // To another shard than that of its name.
  void move_where_moves_are(const std::string& name) const {
    if (turn_ != "host") {
      return;
    }
    const std::uint32_t shard = ctl().json({"lock", "get", name}).value("shard", 0u);
    ctl().json({"--timeout",
                "60s",
                "lock",
                "move",
                name,
                "--to-shard",
                std::to_string((shard + 1) % kShards)});
  }

  nlohmann::json save(std::uint32_t node) const {
    return ctl().json(
        {"--timeout", "60s", "snapshot", "save", file(), "--node", std::to_string(node)});
  }

  // After the save: a lock changes hands, and its new token is lost with the cluster.
  void lose() {
    calls_.release(ctl(), "held-0", held_.at("held-0"));
    lost_ = calls_.acquire(ctl(), "held-0");
    EXPECT_GT(number(lost_, "token"), number(held_.at("held-0"), "token"));
    EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
  }

  const LockCalls calls_{"60s"};
  const ScratchFolder folder_;
  const std::string turn_;
  std::optional<chaos::LocalCluster> cluster_;
  Grants held_;
  nlohmann::json lost_;
};

class TurnSnapshotTest : public AtBothTurns<TurnSnapshotNodesTest> {};

TEST_P(TurnSnapshotTest, ASaveBecomesAClusterOfEitherTurnWithItsLocksWaitersAndGroups) {
  begin();
  hold(6);
  move_where_moves_are("held-4");
  ChildProcess waits = wait_behind("held-2");
  ChildProcess member = ctl().start({"group", "join", "crew", "--id", "one", "--ttl", "1h"});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (ctl().json({"group", "list", "crew"})["members"].empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  await_equal(*cluster_, 2);
  ChildProcess load = ctl().start({"bench", "lock", "--clients", "2", "--seconds", "2"});
  const nlohmann::json saved = save(2);
  EXPECT_EQ(saved.value("node", 0), 2);
  EXPECT_TRUE(load.wait_for(kPatience).has_value());
  lose();
  waits.kill_now();
  member.kill_now();

  expect_whole(file(), saved, held_.size());

  for (const char* const turn : {"host", "resident"}) {
    SCOPED_TRACE(turn);
    chaos::LocalCluster fresh = restored(turn);
    const Ctl ctl = ctl_of(fresh);
    EXPECT_EQ(ctl.json({"lock", "get", "held-2", "--waiters"})["waiters"].size(), 1u);
    EXPECT_EQ(ctl.json({"group", "list", "crew"})["members"].size(), 1u);
    calls_.expect_restored(ctl, held_, lost_);
    if (turn == std::string{"resident"}) {
      // The devices have the states themselves.
      EXPECT_EQ(metric_sum(fresh, "gcoord_server_resident_rows_absent"), 0u);
    }
    // The new cluster goes on after all its nodes have died at once.
    for (std::uint32_t node = 1; node <= 3; ++node) {
      fresh.kill(node);
    }
    start(fresh);
    EXPECT_EQ(calls_.verdict(ctl, "held-3", held_.at("held-3").value("token", "")), "VALID");
    EXPECT_EQ(calls_.verdict(ctl, "held-0", held_.at("held-0").value("token", "")), "STALE");
    EXPECT_EQ(fresh.stop_all(kPatience), 3u);
  }
}

// What the resident turn lacks: its memory mode keeps no checkpoints.
class ResidentMemoryTest : public TurnSnapshotNodesTest {
 protected:
  ResidentMemoryTest() : TurnSnapshotNodesTest("resident") {}
};

TEST_F(ResidentMemoryTest, ASaveIsRefusedAndLeavesNoFile) {
  begin({"--durability", "memory"});
  const Finished refused =
      ctl()({"-o", "json", "--timeout", "60s", "snapshot", "save", file(), "--node", "1"});
  EXPECT_EQ(refused.code, 2) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC8314");
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

INSTANTIATE_TEST_SUITE_P(BothTurns, TurnSnapshotTest, both_turns(), turn_name);

}  // namespace
}  // namespace gcoord::cli
