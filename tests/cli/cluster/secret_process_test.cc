// A living cluster gets a secret, requires proofs by it, and replaces it, under load: three real
// nodes, and whoever comes without the secret stays outside.
#include "tests/cli/member/joining_cluster.h"
#include "tests/server/http/raw_http.h"

#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class SecretProcessTest : public ProcessCluster {
 protected:
  SecretProcessTest() : ProcessCluster(16) {}

  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = kNodes;
    options.shards = shards_;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      configure(node, "permissive");
      options.arguments_of_node.push_back({"--config", file_of(node)});
    }
    auto cluster = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_.emplace(std::move(cluster).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  }

  std::string file_of(std::uint32_t node) const {
    return directory_.path("node-" + std::to_string(node) + ".toml");
  }

  std::string secret_of(std::uint32_t node) const {
    return (cluster_->data_directory(node) / "cluster.secret").string();
  }

  void configure(std::uint32_t node, const std::string& proof) const {
    std::ofstream(file_of(node)) << "peer_proof = \"" << proof << "\"\n";
  }

  void give(std::uint32_t node, const std::string& secret) const {
    std::filesystem::copy_file(
        secret, secret_of(node), std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(::chmod(secret_of(node).c_str(), 0600), 0);
  }

  // The node reads files and options again.
  void reload(std::uint32_t node) { cluster_->signal(node, SIGHUP); }

  static void wait_until(const std::function<bool()>& done, const std::string& what) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest) << what;
    }
  }

  void await_log(std::uint32_t node, const std::string& text) const {
    wait_until([&] { return file_text(cluster_->log_file(node)).find(text) != std::string::npos; },
               text);
  }

  // How many channels of the node are proven, by its metrics.
  int proven(std::uint32_t node) const {
    const std::string page = server::http_answer(cluster_->metrics_port(node), "GET /metrics");
    int count = 0;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      const bool is_row = line.starts_with("gcoord_netcore_peer_proven{");
      count += is_row && line.ends_with(" 1") ? 1 : 0;
    }
    return count;
  }

  void await_proven(int count) const {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      wait_until([&] { return proven(node) == count; }, "channels of " + std::to_string(node));
    }
  }

  std::string make_secret(const char* verb) const {
    const std::string file = directory_.path("secret");
    const nlohmann::json made = ctl().json({"cluster", "secret", verb, file});
    EXPECT_EQ(made.value("id", "").size(), 16u) << made.dump();
    return file;
  }
};

TEST_F(SecretProcessTest, ALivingClusterGetsASecretAndReplacesItWithoutAFailedRequest) {
  BusyClient load(connect(1));
  ASSERT_TRUE(load.await_more(100));
  EXPECT_EQ(proven(1), 0);
  const std::string secret = make_secret("new");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    give(node, secret);
    reload(node);
    await_log(node, "proofs of other nodes: permissive");
    ASSERT_TRUE(load.await_more(50));
  }
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    configure(node, "required");
    reload(node);
    await_log(node, "proofs of other nodes: required");
    ASSERT_TRUE(load.await_more(50));
  }
  await_proven(2);
  // Another secret, on one node after the other; each restarts in the midst of it.
  make_secret("rotate");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    give(node, secret);
    reload(node);
    ASSERT_TRUE(load.await_more(50));
    restart(node);
    ASSERT_TRUE(load.await_more(50));
  }
  await_proven(2);
  load.stop();
  EXPECT_THAT(load.failures(), testing::IsEmpty());
}

TEST_F(SecretProcessTest, ANodeWithoutTheSecretOrWithAnotherStaysOutside) {
  const std::string secret = make_secret("new");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    configure(node, "required");
    give(node, secret);
    reload(node);
  }
  await_proven(2);
  cluster_->kill(3);
  std::filesystem::remove(secret_of(3));
  configure(3, "permissive");
  ASSERT_TRUE(cluster_->spawn(3).ok());
  ASSERT_TRUE(cluster_->wait_serving(3, kPatience).ok());
  wait_until(
      [&] {
        return server::http_answer(cluster_->metrics_port(1), "GET /metrics")
                   .find("gcoord_netcore_dropped_total{reason=\"unproven\"} 0\n") ==
               std::string::npos;
      },
      "an unproven greeting");
  EXPECT_EQ(proven(1), 1);
  // Nothing of the kind ends it, and it comes back with the secret.
  EXPECT_TRUE(cluster_->running(3));
  give(3, secret);
  reload(3);
  await_proven(2);
  const auto grant = ctl().json({"--timeout", "60s", "lock", "acquire", "after", "--ttl", "1m"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
}

TEST_F(SecretProcessTest, ANodeThatJoinsGetsTheSecretWithItsToken) {
  const std::string secret = make_secret("new");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    configure(node, "required");
    give(node, secret);
    reload(node);
  }
  await_proven(2);
  const nlohmann::json first = ctl().json({"--timeout", "30s", "member", "watch", "--count", "1"});
  ASSERT_EQ(first.value("view", ""), "1") << first.dump();
  const std::string token =
      ctl().json({"--timeout", "30s", "member", "add", "--name", "fourth"}).value("token", "");
  const auto ports = chaos::free_ports(3);
  ASSERT_TRUE(ports.ok()) << ports.status().to_string();
  const auto address = [&](std::size_t k) {
    return "127.0.0.1:" + std::to_string(ports.value()[k]);
  };
  const std::string folder = directory_.path("fourth");
  ChildOptions options = program("gcoordd",
                                 {"--data-dir",
                                  folder,
                                  "--listen-client",
                                  address(0),
                                  "--listen-peer",
                                  address(1),
                                  "--listen-metrics",
                                  address(2),
                                  "--join",
                                  comma_list(cluster_->endpoints()),
                                  "--join-token",
                                  token});
  options.error_file = directory_.path("fourth.log");
  auto fourth = ChildProcess::start(options);
  ASSERT_TRUE(fourth.ok()) << fourth.status().to_string();
  EXPECT_THAT(fourth.value().read_line(kPatience).value_or(""), HasSubstr("gcoordd ready"))
      << file_text(directory_.path("fourth.log"));
  EXPECT_EQ(file_text(folder + "/cluster.secret"), file_text(secret));
  EXPECT_EQ(std::filesystem::status(folder + "/cluster.secret").permissions(),
            std::filesystem::perms{0600});
  await_proven(3);
}

TEST_F(SecretProcessTest, ASecretThatOthersMayReadIsRefused) {
  const std::string secret = make_secret("new");
  cluster_->kill(3);
  give(3, secret);
  ASSERT_EQ(::chmod(secret_of(3).c_str(), 0644), 0);
  ASSERT_TRUE(cluster_->spawn(3).ok());
  EXPECT_EQ(cluster_->wait_exit(3, kPatience), 2);
  EXPECT_THAT(file_text(cluster_->log_file(3)), HasSubstr("GC3120"));
  std::filesystem::remove(secret_of(3));
  configure(3, "required");
  ASSERT_TRUE(cluster_->spawn(3).ok());
  EXPECT_EQ(cluster_->wait_exit(3, kPatience), 2);
  EXPECT_THAT(file_text(cluster_->log_file(3)), HasSubstr("GC3128"));
}

}  // namespace
}  // namespace gcoord::cli
