// Three real nodes and clients of the library, for what must hold while nodes are killed.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "common/name_hash.h"
#include "gcoord/client.h"
#include "tests/cli/programs.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

class ProcessCluster : public testing::Test {
 protected:
  static constexpr std::uint32_t kNodes = 3;

  // `arguments_of_node`: further flags of node 1, 2 and so on; empty, or one list for each.
  explicit ProcessCluster(std::uint32_t shards,
                          std::vector<std::vector<std::string>> arguments_of_node = {})
      : shards_(shards), arguments_of_node_(std::move(arguments_of_node)) {}

  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = kNodes;
    options.shards = shards_;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    options.arguments_of_node = arguments_of_node_;
    change(options);
    auto cluster = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_.emplace(std::move(cluster).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  }

  // What a test wants otherwise, before anything is planned.
  virtual void change(chaos::LocalClusterOptions& /*options*/) const {}

  // Clients of different seeds begin at different nodes.
  client::Client connect(std::uint64_t seed) const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    options.wait_for_cluster = true;
    options.seed = seed;
    auto client = client::Client::connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }

  // Outlives every restart of a node.
  static client::Session open(client::Client& client) {
    auto session = client.open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return std::move(session).value();
  }

  Ctl ctl() const { return Ctl{comma_list(cluster_->endpoints())}; }

  void spawn(std::uint32_t node) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
    ASSERT_TRUE(cluster_->wait_serving(node, kPatience).ok());  // Maybe the first of all.
  }

  void restart(std::uint32_t node) {
    cluster_->kill(node);
    spawn(node);
  }

  // The shard of a name that was never moved.
  std::uint32_t home(const std::string& name) const {
    return shard_of(hash_name(name), shards_).value;
  }

  const std::uint32_t shards_;
  const std::vector<std::vector<std::string>> arguments_of_node_;
  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

}  // namespace gcoord::cli
