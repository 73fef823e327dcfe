// gcoordd as a process: refusals, restarts, metrics, and three nodes together.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

// The answer of an HTTP server, header included.
std::string http_get(const std::string& endpoint, const std::string& path) {
  asio::ip::tcp::iostream stream;
  stream.expires_after(kPatience);
  stream.connect(endpoint.substr(0, endpoint.find(':')), endpoint.substr(endpoint.find(':') + 1));
  stream << "GET " << path << " HTTP/1.0\r\nHost: node\r\n\r\n" << std::flush;
  std::ostringstream answer;
  answer << stream.rdbuf();
  return answer.str();
}

class ThreeNodesProcessTest : public testing::Test {
 protected:
  ThreeNodesProcessTest() {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 64;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    EXPECT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(comma_list(cluster_->endpoints()));
  }

  // A grant that waits for leaders to be elected.
  nlohmann::json acquire(const std::string& name) {
    return ctl_->json({"--timeout", "30s", "lock", "acquire", name, "--ttl", "60s"});
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

TEST_F(ThreeNodesProcessTest, ALockSurvivesTheDeathOfAnyNode) {
  const auto grant = acquire("a");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
    const auto verdict =
        ctl_->json({"--timeout", "30s", "lock", "check", "a", "--token", grant["token"]});
    EXPECT_EQ(verdict["verdict"], "VALID") << "without node " << node;
    ASSERT_TRUE(cluster_->spawn(node).ok());
    const Status ready = cluster_->wait_ready(node, kPatience);
    ASSERT_TRUE(ready.ok()) << ready.to_string();
  }
}

TEST_F(ThreeNodesProcessTest, ALockSurvivesTheDeathOfAllNodesAtOnce) {
  const auto grant = acquire("a");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    ASSERT_TRUE(cluster_->wait_ready(node, kPatience).ok());
  }
  const auto verdict =
      ctl_->json({"--timeout", "30s", "lock", "check", "a", "--token", grant["token"]});
  EXPECT_EQ(verdict["verdict"], "VALID");
}

TEST_F(ThreeNodesProcessTest, WithoutAMajorityNothingIsGranted) {
  acquire("a");
  cluster_->kill(1);
  cluster_->kill(2);
  const Finished refused =
      (*ctl_)({"-o", "json", "--timeout", "3s", "lock", "acquire", "b", "--try"});
  EXPECT_NE(refused.code, 0);
  EXPECT_TRUE(refused.json().contains("error"));
}

TEST_F(ThreeNodesProcessTest, StatusShowsDeadNodesAndLiveOnes) {
  acquire("a");
  cluster_->kill(2);
  const auto status = ctl_->json({"status"}, 3);  // All that is known, and not 0.
  ASSERT_EQ(status["nodes"].size(), 3u);
  EXPECT_EQ(status["nodes"][0]["reachable"], true);
  EXPECT_EQ(status["nodes"][1]["reachable"], false);
  EXPECT_EQ(status["nodes"][2]["reachable"], true);
  const auto shard = ctl_->json({"shard", "show", "5"}, 3);
  EXPECT_EQ(shard["replicas"].size(), 2u);
  ASSERT_EQ(shard["unreachable"].size(), 1u);
  EXPECT_EQ(shard["unreachable"][0]["node"], 2);
}

TEST_F(ThreeNodesProcessTest, AListFromOneEndpointShowsTheLocksOfAllNodes) {
  for (int i = 0; i < 12; ++i) {
    acquire("lock" + std::to_string(i));
  }
  const std::string first = cluster_->endpoints().front();
  const auto all = Ctl(first).json({"lock", "ls"});
  EXPECT_EQ(all["locks"].size(), 12u);
  EXPECT_EQ(all["complete"], true);
  cluster_->kill(2);
  EXPECT_EQ(Ctl(first).json({"lock", "ls"})["complete"], false);
}

TEST_F(ThreeNodesProcessTest, NodesEndCleanlyOnSigterm) {
  acquire("a");
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST(GcoorddTest, ASecondDaemonOnADirectoryIsRefused) {
  const ScratchFolder directory;
  const std::string data_dir = (directory.path() / "data").string();
  DevNode first({"--data-dir", data_dir});
  const Finished second =
      run("gcoordd",
          {"dev", "--listen-client", "127.0.0.1:0", "--shards", "16", "--data-dir", data_dir});
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("GC2001"));
}

TEST(GcoorddTest, ADirectoryOfAnotherClusterIsRefused) {
  const ScratchFolder directory;
  const std::string data_dir = (directory.path() / "data").string();
  {
    DevNode first({"--data-dir", data_dir});
    first.child().signal(SIGTERM);
    EXPECT_EQ(first.child().wait_for(kPatience), 0);
  }
  const std::vector<std::string> base = {
      "dev", "--listen-client", "127.0.0.1:0", "--data-dir", data_dir};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return run("gcoordd", more);
  };
  const Finished shards = with({"--shards", "32"});
  EXPECT_EQ(shards.code, 2);
  EXPECT_THAT(shards.err, HasSubstr("shard"));
  const Finished cluster = with({"--shards", "16", "--cluster-name", "other"});
  EXPECT_EQ(cluster.code, 2);
  EXPECT_THAT(cluster.err, HasSubstr("cluster"));
  const Finished node = with({"--shards", "16", "--node-id", "9"});
  EXPECT_EQ(node.code, 2);
  EXPECT_THAT(node.err, HasSubstr("node"));
}

TEST(GcoorddTest, LocksSurviveARestartAndTokensGoOn) {
  const ScratchFolder directory;
  const std::string data_dir = (directory.path() / "data").string();
  std::string token;
  {
    DevNode node({"--data-dir", data_dir});
    token = node.ctl().json({"lock", "acquire", "a", "--ttl", "60s"})["token"];
    node.child().kill_now();
  }
  DevNode node({"--data-dir", data_dir});
  EXPECT_EQ(node.ctl().json({"lock", "check", "a", "--token", token})["verdict"], "VALID");
  EXPECT_EQ(node.ctl().json({"status"})["nodes"][0]["incarnation"], 2);
}

TEST(GcoorddTest, MetricsSayWhatAnswersStandOn) {
  for (const std::string mode : {"memory", "durable"}) {
    const ScratchFolder directory;
    DevNode node({"--listen-metrics",
                  "127.0.0.1:0",
                  "--durability",
                  mode,
                  "--data-dir",
                  (directory.path() / "data").string()});
    EXPECT_THAT(http_get(node.metrics(), "/metrics"),
                HasSubstr("\ngcoord_server_durability{mode=\"" + mode + "\"} 1\n"));
  }
}

TEST(GcoorddTest, MetricsAreExposed) {
  DevNode node({"--listen-metrics", "127.0.0.1:0"});
  node.ctl().json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string page = http_get(node.metrics(), "/metrics");
  for (const std::string name : {"gcoord_server_requests_total",
                                 "gcoord_server_turn_duration_seconds_bucket",
                                 "gcoord_server_command_duration_seconds_count",
                                 "gcoord_server_locks 1"}) {
    EXPECT_THAT(page, HasSubstr(name));
  }
  EXPECT_THAT(page, testing::Not(HasSubstr("shard=")));
}

TEST(GcoorddTest, TraceWritesTransitionsAsJsonLines) {
  const ScratchFolder directory;
  const std::string file = (directory.path() / "trace.jsonl").string();
  {
    DevNode node({"--trace", file});
    node.ctl().json({"lock", "acquire", "a", "--ttl", "60s"});
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
  }
  std::ifstream lines(file);
  std::string line;
  bool elected = false;
  while (std::getline(lines, line)) {
    const auto transition = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(transition.is_object()) << line;
    elected = elected || transition["role"] == "leader";
  }
  EXPECT_TRUE(elected);
}

TEST(GcoorddTest, ASecondLifeWritesATraceOfItsOwn) {
  const ScratchFolder directory;
  const std::string file = (directory.path() / "trace.jsonl").string();
  std::uintmax_t first_bytes = 0;
  for (const int life : {1, 2}) {
    DevNode node({"--trace", file});
    node.ctl().json({"lock", "acquire", "a", "--ttl", "60s"});
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
    first_bytes = life == 1 ? std::filesystem::file_size(file) : first_bytes;
  }
  EXPECT_GT(first_bytes, 0u);
  EXPECT_EQ(std::filesystem::file_size(file), first_bytes) << "the first life's trace changed";
  EXPECT_GT(std::filesystem::file_size(file + ".2"), 0u);
}

TEST(GcoorddTest, WrongUsageSaysWhatToDo) {
  const Finished finished = run("gcoordd", {"--tick-ms", "0", "--data-dir", "d"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(finished.out.empty());
  EXPECT_THAT(finished.err, HasSubstr("--tick-ms: '0' is not a whole number from 1 to 1000"));
}

TEST(GcoorddDevice, ADeviceByNameThatIsNotThereIsARefusalInOneLine) {
  const Finished finished = run("gcoordd", {"dev", "--device", "cuda:250"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, testing::ContainsRegex("GC700[12]"));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1);
}

TEST(GcoorddDevice, AFaultWithoutADeviceToInjectItIntoIsRefused) {
  ChildOptions options = program("gcoordd", {"dev", "--device", "cpu"});
  options.environment.emplace_back("GCOORD_DEVICE_FAULT", "call:1");
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().wait_for(kPatience), 2);
}

}  // namespace
}  // namespace gcoord::cli
