// Starts of gcoordd as an operator meets them: ports that are taken, and what a refusal costs; ids
// that live already; and when a node says that it is ready.
#include "chaos/process/directory_copy.h"
#include "chaos/process/free_ports.h"
#include "tests/cli/process_cluster.h"
#include "tests/cli/programs.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

// Another program that listens on a port of loopback.
class Listener {
 public:
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::make_address_v4("127.0.0.1"), 0}};
};

class StartProcessTest : public testing::Test {
 protected:
  StartProcessTest() {
    DevNode node({"--data-dir", data_dir_});
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
  }

  // A start that fails, with one more flag than the one that did not.
  Finished refused(const std::string& flag, const std::string& value) const {
    return run("gcoordd",
               {"dev",
                "--shards",
                "16",
                "--data-dir",
                data_dir_,
                "--listen-client",
                flag == "--listen-client" ? value : "127.0.0.1:0",
                "--listen-peer",
                flag == "--listen-peer" ? value : "127.0.0.1:0",
                "--listen-metrics",
                flag == "--listen-metrics" ? value : "off",
                "--listen-ledger",
                flag == "--listen-ledger" ? value : "off"});
  }

  const ScratchFolder directory_;
  const std::string data_dir_ = directory_.path("data");
};

TEST_F(StartProcessTest, ATakenPortIsNamedAndUsesUpNoIncarnation) {
  const Listener other;
  for (const std::string flag :
       {"--listen-client", "--listen-peer", "--listen-metrics", "--listen-ledger"}) {
    const Finished finished = refused(flag, other.address());
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr("GC3004"));
    EXPECT_THAT(finished.err, HasSubstr(flag + " " + other.address() + ": Address already in use"));
  }
  DevNode node({"--data-dir", data_dir_});
  EXPECT_EQ(node.ctl().json({"status"})["nodes"][0]["incarnation"], 2);
}

TEST(DataDirectoryOption, APathThatCannotBeADirectoryIsWrongUsage) {
  const ScratchFolder folder;
  std::ofstream(folder.path("file")) << "mine";
  for (const std::string& path : {folder.path("file"), folder.path("absent/node")}) {
    const Finished refused =
        run("gcoordd",
            {"--data-dir", path, "--listen-client", "127.0.0.1:0", "--listen-metrics", "off"});
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find("GC2008"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find(path), std::string::npos) << refused.err;
  }
}

TEST_F(StartProcessTest, AnAddressOfNoInterfaceUsesUpNoIncarnation) {
  // 192.0.2.0/24 is for documentation, so no host has it.
  EXPECT_THAT(run("gcoordd",
                  {"dev",
                   "--shards",
                   "16",
                   "--data-dir",
                   data_dir_,
                   "--insecure",
                   "--listen-client",
                   "192.0.2.1:7400"})
                  .err,
              HasSubstr("GC3004"));
  DevNode node({"--data-dir", data_dir_});
  EXPECT_EQ(node.ctl().json({"status"})["nodes"][0]["incarnation"], 2);
}

TEST_F(StartProcessTest, EverythingInTheDataDirectoryIsItsUsersAlone) {
  const mode_t before = ::umask(022);
  const std::string fresh = directory_.path("fresh");
  {
    DevNode node({"--data-dir", fresh});
    node.ctl().json({"lock", "acquire", "a", "--ttl", "60s"});
  }
  ::umask(before);
  std::size_t seen = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(fresh)) {
    const auto mode = std::filesystem::symlink_status(each.path()).permissions();
    EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
              std::filesystem::perms::none)
        << each.path();
    ++seen;
  }
  EXPECT_GT(seen, 5u);
}

TEST_F(StartProcessTest, ADamagedDirectoryBehindALinkIsMovedAndNotTheLink) {
  const std::string link = directory_.path("link");
  std::filesystem::create_directory_symlink(data_dir_, link);
  std::ofstream(data_dir_ + "/identity") << "damaged";
  const std::string log = directory_.path("log");
  ChildOptions options = program(
      "gcoordd",
      {"dev", "--shards", "16", "--listen-client", "127.0.0.1:0", "--data-dir", link, "--rejoin"});
  options.error_file = log;
  auto node = ChildProcess::start(options);
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node.value().read_line(kPatience).has_value()) << file_text(log);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::exists(data_dir_ + ".damaged/identity"));
  EXPECT_TRUE(std::filesystem::exists(data_dir_ + "/identity"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(link + ".damaged")));
}

// Three nodes of which node 2 has started before, and processes that call themselves node 2.
class SecondProcessTest : public ProcessCluster {
 protected:
  SecondProcessTest() : ProcessCluster(16) {}

  // A process with the command line of node 2, but other ports and this directory.
  ChildProcess impostor(const std::string& data_dir, const std::vector<std::string>& more = {}) {
    ChildOptions options;
    options.arguments = cluster_->arguments(2);
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    const auto ports = chaos::free_ports(2).value();
    for (std::size_t i = 0; i + 1 < options.arguments.size(); ++i) {
      const std::string flag = options.arguments[i];
      std::string& value = options.arguments[i + 1];
      value = flag == "--data-dir"         ? data_dir
              : flag == "--listen-client"  ? "127.0.0.1:0"
              : flag == "--listen-peer"    ? "127.0.0.1:" + std::to_string(ports[0])
              : flag == "--listen-metrics" ? "off"
                                           : value;
    }
    options.capture_output = true;
    options.error_file = data_dir + ".log";
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok()) << child.status().to_string();
    return std::move(child).value();
  }
};

TEST_F(SecondProcessTest, UnderALiveIdItIsToldSoAndTheFirstOneStays) {
  cluster_->kill(2);
  const std::string copy = directory_.path("copy");
  ASSERT_FALSE(chaos::copy_directory(cluster_->data_directory(2), copy));
  spawn(2);
  const std::vector<std::string> folders = {
      directory_.path("empty"), directory_.path("rejoins"), copy};
  std::vector<ChildProcess> seconds;
  for (const std::string& folder : folders) {
    const bool rejoins = folder == folders[1];
    seconds.push_back(impostor(
        folder, rejoins ? std::vector<std::string>{"--rejoin"} : std::vector<std::string>{}));
  }
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_EQ(seconds[i].wait_for(kPatience), 2) << folders[i];
    const std::string log = file_text(folders[i] + ".log");
    EXPECT_THAT(log, HasSubstr("GC3005")) << folders[i];
    EXPECT_THAT(log, testing::Not(HasSubstr("--rejoin"))) << folders[i];
  }
  EXPECT_TRUE(cluster_->running(2));
  EXPECT_EQ(ctl().json({"status"})["nodes"][1]["incarnation"], 2);
}

// Three nodes that are started one by one.
class ReadyTest : public testing::Test {
 protected:
  ReadyTest() {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 16;
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
  }

  // Waits until the node's log has the text; the patience only bounds a failure.
  std::string log_with(std::uint32_t node, const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::string log;
    while (log.find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      log = file_text(cluster_->log_file(node));
    }
    EXPECT_THAT(log, HasSubstr(text));
    return log;
  }

  bool said_ready(std::uint32_t node) {
    return cluster_->wait_ready(node, std::chrono::milliseconds{1}).ok();
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

TEST_F(ReadyTest, ANodeAloneServesAndNamesWhomItWaitsForUntilItHearsAMajority) {
  ASSERT_TRUE(cluster_->spawn(1).ok());
  const std::string log = log_with(1, "waits for a majority of 3 nodes");
  EXPECT_THAT(log,
              HasSubstr("node 2 at 127.0.0.1:" + std::to_string(cluster_->peer_port(2)) + " ("));
  EXPECT_THAT(log,
              HasSubstr("node 3 at 127.0.0.1:" + std::to_string(cluster_->peer_port(3)) + " ("));
  EXPECT_TRUE(cluster_->wait_serving(1, kPatience).ok());
  EXPECT_FALSE(said_ready(1));
  ASSERT_TRUE(cluster_->spawn(2).ok());
  EXPECT_TRUE(cluster_->wait_ready(1, kPatience).ok());
  EXPECT_TRUE(cluster_->wait_ready(2, kPatience).ok());
  log_with(1, "a new cluster begins when all nodes have met once; waits for node 3 at ");
  EXPECT_EQ(cluster_->stop_all(kPatience), 2u);
}

TEST_F(ReadyTest, ANodeThatAllRefuseSaysSoAndIsNeverReady) {
  ASSERT_TRUE(cluster_->spawn(1).ok());
  ASSERT_TRUE(cluster_->spawn(2).ok());
  ASSERT_TRUE(cluster_->wait_ready(1, kPatience).ok());
  ASSERT_TRUE(cluster_->spawn(3, {"--cluster-id", "77"}).ok());
  const std::string log = log_with(3, "all other nodes refuse this node, so it is not ready");
  EXPECT_THAT(log, HasSubstr("belongs to cluster"));
  EXPECT_FALSE(said_ready(3));
  cluster_->signal(3, SIGTERM);
  EXPECT_EQ(cluster_->wait_exit(3, kPatience), 0);
  EXPECT_FALSE(said_ready(3));
}

TEST_F(ReadyTest, ANodeThatTellsClientsAnotherPortThanItListensOnSaysSo) {
  ChildOptions options;
  options.arguments = cluster_->arguments(1);
  const auto flag = std::ranges::find(options.arguments, "--listen-client");
  ASSERT_NE(flag, options.arguments.end());
  *(flag + 1) = "127.0.0.1:0";
  options.capture_output = true;
  options.error_file = cluster_->log_file(1).string();
  auto node = ChildProcess::start(options);
  ASSERT_TRUE(node.ok());
  log_with(1, "clients are told to find this node at " + cluster_->endpoints()[0]);
}

// Node 3 comes back with another client port. Its peers learn the new one from the node itself.
TEST_F(ReadyTest, StatusShowsANodeThatMovedAndNoNodeZero) {
  const std::vector<std::string> old = cluster_->endpoints();
  std::vector<std::vector<std::string>> commands;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    std::vector<std::string> arguments = cluster_->arguments(node);
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i - 1] == "--peer") {  // Without the client address.
        arguments[i].resize(arguments[i].find(','));
      }
    }
    commands.push_back(std::move(arguments));
  }
  const auto start = [&](std::uint32_t node) {
    ChildOptions options;
    options.arguments = commands[node - 1];
    options.capture_output = true;
    options.error_file = cluster_->log_file(node).string();
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    return std::move(child).value();
  };
  std::vector<ChildProcess> nodes;
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    nodes.push_back(start(node));
  }
  for (ChildProcess& node : nodes) {
    ASSERT_TRUE(node.read_line(kPatience).has_value());
  }
  nodes[2].kill_now();
  const std::string moved = "127.0.0.1:" + std::to_string(chaos::free_ports(1).value().front());
  for (std::string& argument : commands[2]) {
    argument = argument == old[2] ? moved : argument;
  }
  nodes[2] = start(3);
  ASSERT_TRUE(nodes[2].read_line(kPatience).has_value());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  nlohmann::json status;
  while (std::chrono::steady_clock::now() < deadline) {  // Until the peers have heard of it.
    const Finished asked = Ctl(comma_list(old))({"-o", "json", "status"});
    status = asked.json();
    if (asked.code == 0) {
      break;
    }
  }
  ASSERT_EQ(status["nodes"].size(), 3u) << status.dump();
  EXPECT_EQ(status["nodes"][0]["node"], 1);
  EXPECT_EQ(status["nodes"][2]["node"], 3);
  EXPECT_EQ(status["nodes"][2]["reachable"], true);
  EXPECT_EQ(status["nodes"][2]["endpoint"], moved);
  ASSERT_EQ(status["unknown_endpoints"].size(), 1u);
  EXPECT_EQ(status["unknown_endpoints"][0]["endpoint"], old[2]);
}

}  // namespace
}  // namespace gcoord::cli
