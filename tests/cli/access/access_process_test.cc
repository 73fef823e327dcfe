// gcoordctl user, role and auth on three real nodes: everybody has what one was told, restarts and
// snapshots keep it, the ledger says who changed what, and stopped nodes are marked for recovery.
// One list for both turns; the resident one by the twins of the devices, which save no snapshots.
#include "tests/cli/process_cluster.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class AccessProcessTest : public ProcessCluster, public testing::WithParamInterface<std::string> {
 protected:
  AccessProcessTest() : ProcessCluster(4, {3, {"--turn", GetParam()}}) {}

  // Nodes tell each other what they have about once a second.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ProcessCluster::SetUp());
    while (ctl()({"--timeout", "30s", "role", "add", "any", "--dry-run"}).code == 5) {
    }
  }

  nlohmann::json told(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--timeout", "30s"});
    return ctl().json(words);
  }

  // The number of the refusal.
  int refused(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-o", "json", "--timeout", "30s"});
    const Finished finished = ctl()(words);
    EXPECT_NE(finished.code, 0) << finished.out;
    const std::string code = finished.json()["error"].value("code", std::string{"GC0"});
    return std::stoi(code.substr(2));
  }

  Finished recover(std::uint32_t node, const std::string& cluster) const {
    return run("gcoordd",
               {"--auth-recover",
                "--data-dir",
                cluster_->data_directory(node).string(),
                "--confirm",
                cluster});
  }

  void make_users() const {
    told({"role", "add", "ops", "read", "details", "--prefix", "jobs/"});
    told({"role", "grant", "ops", "lock.break", "--only", "jobs/train"});
    told({"role", "add", "all", "--include", "ops"});
    told({"user", "add", "ann", "--role", "root", "--no-password", "--as", "the operator"});
    told({"user", "add", "bob", "--role", "all", "--no-password"});
  }
};

TEST_P(AccessProcessTest, VerbsChangeWhatAllNodesAnswer) {
  EXPECT_EQ(told({"auth", "status"})["epoch"], "0");
  EXPECT_EQ(refused({"auth", "enable"}), 6514);
  make_users();
  const nlohmann::json role = told({"role", "get", "ops"});
  EXPECT_EQ(role["epoch"], "5");
  ASSERT_EQ(role["grants"].size(), 3u) << role.dump();
  EXPECT_EQ(role["grants"][1]["prefix"], "jobs/");
  EXPECT_EQ(role["grants"][2],
            (nlohmann::json{{"only", true}, {"prefix", "jobs/train"}, {"rights", {"lock.break"}}}));
  EXPECT_EQ(refused({"role", "grant", "ops", "--include", "all"}), 6509);
  EXPECT_EQ(refused({"role", "grant", "ops", "cluster.admin", "--prefix", "a"}), 6507);
  EXPECT_EQ(refused({"role", "revoke", "ops", "lock.admin"}), 6508);
  EXPECT_EQ(refused({"role", "delete", "root"}), 6505);
  EXPECT_EQ(refused({"user", "add", "bob", "--no-password"}), 6502);
  EXPECT_EQ(refused({"user", "get", "eve"}), 6501);
  EXPECT_EQ(refused({"user", "grant", "bob", "root", "--epoch", "1"}), 6512);
  // Whoever switches rights on must be able to switch them off.
  EXPECT_EQ(refused({"auth", "enable"}), 6516);
  EXPECT_EQ(told({"user", "disable", "bob"})["epoch"], "6");
  EXPECT_EQ(refused({"user", "disable", "bob"}), 6513);
  EXPECT_EQ(told({"user", "get", "bob"})["disabled"], true);
  EXPECT_EQ(told({"role", "delete", "all", "--dry-run"})["epoch"], "6");
  EXPECT_EQ(told({"role", "delete", "all"})["epoch"], "7");
  EXPECT_EQ(told({"user", "get", "bob"})["roles"].size(), 0u);
  const Finished table = ctl()({"--timeout", "30s", "user", "list"});
  EXPECT_THAT(table.out, HasSubstr("disabled"));
  EXPECT_THAT(table.out, HasSubstr("root"));
}

TEST_P(AccessProcessTest, RestartsAndASnapshotKeepThem) {
  make_users();
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    restart(node);
  }
  EXPECT_EQ(told({"user", "list"})["users"].size(), 2u);
  EXPECT_EQ(told({"role", "list"})["roles"].size(), 2u);
  const std::string epoch = told({"auth", "status"})["epoch"];
  EXPECT_EQ(epoch, "5");
  if (GetParam() != "host") {
    return;
  }
  const std::string file = (directory_.path() / "saved").string();
  told({"snapshot", "save", file});
  EXPECT_EQ(cluster_->stop_all(kPatience), kNodes);
  chaos::LocalClusterOptions options;
  options.program = chaos::program_beside("gcoordd");
  options.directory = directory_.path() / "new";
  std::filesystem::create_directories(options.directory);
  options.node_count = 1;
  options.shards = shards_;
  options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
  auto planned = chaos::LocalCluster::plan(options);
  ASSERT_TRUE(planned.ok()) << planned.status().to_string();
  const Finished restored = run("gcoordctl",
                                {"-o",
                                 "json",
                                 "snapshot",
                                 "restore",
                                 file,
                                 "--data-dir",
                                 planned.value().data_directory(1).string(),
                                 "--node",
                                 "1",
                                 "--nodes",
                                 "1"});
  ASSERT_EQ(restored.code, 0) << restored.out << restored.err;
  options.node_arguments.insert(options.node_arguments.end(),
                                {"--cluster-id", restored.json().value("cluster_id", "")});
  auto fresh = chaos::LocalCluster::plan(options);
  ASSERT_TRUE(fresh.ok()) << fresh.status().to_string();
  ASSERT_TRUE(fresh.value().start_all(kPatience).ok());
  const Ctl ctl{comma_list(fresh.value().endpoints())};
  EXPECT_EQ(ctl.json({"--timeout", "30s", "auth", "status"})["epoch"], epoch);
  EXPECT_EQ(ctl.json({"--timeout", "30s", "user", "get", "ann"})["roles"],
            nlohmann::json::array({"root"}));
}

TEST_P(AccessProcessTest, AStoppedMajorityWithTheIdTypedSwitchesRightsOff) {
  make_users();
  const std::string cluster = told({"status"})["cluster_id"];
  const Finished running = recover(1, cluster);
  EXPECT_EQ(running.code, 2);
  EXPECT_THAT(running.err, HasSubstr("GC2001"));
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    cluster_->kill(node);
  }
  EXPECT_THAT(recover(1, "12").err, HasSubstr("GC6521"));
  EXPECT_EQ(recover(1, cluster).code, 0);
  EXPECT_EQ(recover(2, cluster).code, 0);
  EXPECT_THAT(
      run("gcoordd", {"--auth-recover", "--data-dir", directory_.path().string(), "--confirm", "1"})
          .err,
      HasSubstr("GC6522"));
  ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  nlohmann::json status;
  do {
    status = told({"auth", "status"});
  } while (status["recoveries"] == "0");
  EXPECT_EQ(status["enabled"], false);
  EXPECT_EQ(status["epoch"], "6");
  EXPECT_EQ(status["users"], 2);
}

INSTANTIATE_TEST_SUITE_P(BothTurns,
                         AccessProcessTest,
                         testing::Values("host", "resident"),
                         [](const auto& turn) { return turn.param; });

}  // namespace
}  // namespace gcoord::cli
