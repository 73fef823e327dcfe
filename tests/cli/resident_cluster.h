// Gcoordd processes of --turn resident, three where nobody says else, by the twin of the device
// unless told otherwise, and what tests ask of them.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

struct ResidentClusterOptions {
  std::string durability = "memory";
  std::string election_ms = "500";
  std::string stripes = "0";
  std::vector<std::string> more;                  // Flags of every node.
  std::vector<std::vector<std::string>> of_node;  // Of node 1, 2, 3; or empty.
  std::vector<std::string> hosts;                 // Likewise their addresses.
  bool starts = true;                             // Else the test calls start().
  std::vector<std::uint32_t> ids;                 // Of nodes 1, 2 and 3; empty: so.
  std::uint32_t nodes = 3;
};

class ResidentProcessTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kShards = 48;

  explicit ResidentProcessTest(const ResidentClusterOptions& wanted = {}) {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = kShards;
    options.node_count = wanted.nodes;
    options.node_arguments = {"--election-ms",
                              wanted.election_ms,
                              "--heartbeat-ms",
                              "50",
                              "--turn",
                              "resident",
                              "--turn-stripes",
                              wanted.stripes,
                              "--durability",
                              wanted.durability};
    options.node_arguments.insert(
        options.node_arguments.end(), wanted.more.begin(), wanted.more.end());
    options.arguments_of_node = wanted.of_node;
    options.host_of_node = wanted.hosts;
    options.node_ids = wanted.ids;
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    ctl_.emplace(comma_list(cluster_->endpoints()));
    if (wanted.starts) {
      start();
    }
  }

  void start() {
    const Status started = cluster_->start_all(kPatience);
    EXPECT_TRUE(started.ok()) << started.to_string();
  }

  void restart(std::uint32_t node) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
    const Status serving = cluster_->wait_serving(node, kPatience);  // Maybe the first of all.
    ASSERT_TRUE(serving.ok()) << serving.to_string();
  }

  // Asks again and again; the patience only bounds a failure.
  template <typename Condition>
  static void wait_for(const Condition& holds, std::chrono::milliseconds patience = kPatience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    bool held = holds();
    while (!held && std::chrono::steady_clock::now() < until) {
      held = holds();
    }
    EXPECT_TRUE(held);
  }

  // Until every node votes in all shards, as an operator waits between two restarts.
  void wait_until_whole() {
    wait_for([this] {
      const auto status = ctl_->json({"status"});
      std::uint32_t voting = 0;
      std::uint32_t unled = 0;
      for (const auto& node : status["nodes"]) {
        const auto memory = node.value("memory", nlohmann::json::object());
        voting += memory.value("voting", 0u);
        unled += memory.value("unled", kShards);
      }
      return voting == cluster_->node_count() * kShards && unled == 0;
    });
  }

  // Until the node that lost its directory votes in all shards and its mark is gone.
  void wait_until_rejoined(std::uint32_t node) {
    wait_for([this, node] {
      const auto status = (*ctl_)({"-o", "json", "status"}).json();
      for (const auto& each : status.value("nodes", nlohmann::json::array())) {
        if (each.value("node", 0u) == node) {
          const auto memory = each.value("memory", nlohmann::json::object());
          return memory.value("voting", 0u) == kShards && !memory.value("rejoining", true);
        }
      }
      return false;
    });
  }

  // Until both peers of the node have heard that incarnation of it.
  void wait_until_heard(std::uint32_t node, std::uint32_t incarnation) {
    wait_for([&] {
      const auto status = (*ctl_)({"-o", "json", "status"}).json();
      std::uint32_t heard = 0;
      for (const auto& each : status.value("nodes", nlohmann::json::array())) {
        for (const auto& peer : each.value("peers", nlohmann::json::array())) {
          heard += peer.value("node", 0u) == node && peer.value("live", false) &&
                   peer.value("incarnation", 0u) == incarnation;
        }
      }
      return heard == 2;
    });
  }

  nlohmann::json acquire(const std::string& name, const std::string& ttl = "60s") {
    return ctl_->json({"--timeout", "30s", "lock", "acquire", name, "--ttl", ttl});
  }

  nlohmann::json verdict(const std::string& name, const nlohmann::json& grant, int code = 0) {
    return ctl_->json({"--timeout", "30s", "lock", "check", name, "--token", grant["token"]}, code);
  }

  // What `node` says of its way to `peer`.
  std::string link(std::uint32_t node, std::uint32_t peer) {
    // Where links lose packets, a status may miss a node; whoever waits asks again.
    const auto status = (*ctl_)({"-o", "json", "status"}).json();
    for (const auto& each : status.value("nodes", nlohmann::json::array())) {
      const auto peers = each.value("peers", nlohmann::json::array());
      for (const auto& other : peers) {
        if (each["node"] == node && other["node"] == peer) {
          return other["device_link"];
        }
      }
    }
    return "";
  }

  // Each in turn: the second time already, a majority without the node that came back is none.
  void kill_each_in_turn() {
    std::vector<nlohmann::json> grants;
    for (std::uint32_t node = 1; node <= 3; ++node) {
      for (int i = 0; i < 4; ++i) {
        grants.push_back(acquire("lock" + std::to_string(grants.size())));
      }
      cluster_->kill(node);
      for (std::size_t i = 0; i < grants.size(); ++i) {
        EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID") << node;
      }
      acquire("without" + std::to_string(node));
      restart(node);
      wait_until_whole();
    }
    EXPECT_EQ((*ctl_)({"-o", "json", "lock", "acquire", "lock0", "--try", "--ttl", "60s"}).code, 6);
    EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), grants.size() + 3);
  }

  // The others lead on without it; it hears of what it missed, and its own answers are true again.
  void stop_and_resume() {
    acquire("before");
    cluster_->signal(3, SIGSTOP);
    std::vector<nlohmann::json> grants;
    for (int i = 0; i < 4; ++i) {
      grants.push_back(acquire("lock" + std::to_string(i)));
    }
    cluster_->signal(3, SIGCONT);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID");
    }
    acquire("after");
    for (std::uint32_t node = 1; node <= 3; ++node) {
      EXPECT_TRUE(cluster_->running(node)) << node;
    }
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

}  // namespace gcoord::cli
