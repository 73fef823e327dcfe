// Nodes that start at other addresses than before: the view follows by itself, and clients that
// know none of the new addresses find the nodes there. An address that another node has is not
// taken.
#include "chaos/process/free_ports.h"
#include "common/comma_list.h"
#include "common/host/child_process.h"
#include "gcoord/client.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class AddressProcessTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kNodes = 3;

  explicit AddressProcessTest(std::string turn = "host") : turn_(std::move(turn)) {}

  struct Node {
    std::string client;
    std::string peer;
    std::string metrics;
    std::optional<ChildProcess> process;
  };

  void SetUp() override {
    auto ports = chaos::free_ports(3 * kNodes + 2);
    ASSERT_TRUE(ports.ok()) << ports.status().to_string();
    const auto address = [&](std::size_t k) {
      return "127.0.0.1:" + std::to_string(ports.value()[k]);
    };
    for (std::uint32_t k = 0; k < kNodes; ++k) {
      nodes_[k] = {address(3 * k), address(3 * k + 1), address(3 * k + 2), std::nullopt};
    }
    elsewhere_ = {address(3 * kNodes), address(3 * kNodes + 1)};
  }

  Node& node(std::uint32_t id) { return nodes_[id - 1]; }

  std::string log_of(std::uint32_t id) const {
    return (directory_.path() / ("node-" + std::to_string(id) + ".log")).string();
  }

  // With the others' peer addresses alone: where clients find a node, it says itself.
  void start(std::uint32_t id, std::uint32_t count, const std::vector<std::string>& more = {}) {
    Node& at = node(id);
    std::vector<std::string> arguments = {"--node-id",
                                          std::to_string(id),
                                          "--data-dir",
                                          (directory_.path() / std::to_string(id)).string(),
                                          "--listen-client",
                                          at.client,
                                          "--listen-peer",
                                          at.peer,
                                          "--listen-metrics",
                                          at.metrics,
                                          "--shards",
                                          "16",
                                          "--election-ms",
                                          "500",
                                          "--heartbeat-ms",
                                          "50"};
    for (std::uint32_t other = 1; other <= count; ++other) {
      if (other != id) {
        arguments.insert(arguments.end(), {"--peer", std::to_string(other) + "=" + peers_[other]});
      }
    }
    const std::vector<std::string> turn = turn_flags(turn_);
    arguments.insert(arguments.end(), turn.begin(), turn.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    ChildOptions options = program("gcoordd", std::move(arguments));
    options.error_file = log_of(id);
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok()) << child.status().to_string();
    at.process.emplace(std::move(child).value());
  }

  void await_ready(std::uint32_t id) {
    const auto line = node(id).process->read_line(kPatience);
    ASSERT_THAT(line.value_or(""), HasSubstr("gcoordd ready")) << file_text(log_of(id));
  }

  void start_all(std::uint32_t count) {
    for (std::uint32_t id = 1; id <= count; ++id) {
      peers_[id] = node(id).peer;
    }
    for (std::uint32_t id = 1; id <= count; ++id) {
      start(id, count);
    }
    for (std::uint32_t id = 1; id <= count; ++id) {
      ASSERT_NO_FATAL_FAILURE(await_ready(id));
    }
    const nlohmann::json first =
        Ctl{node(1).client}.json({"--timeout", "30s", "member", "watch", "--count", "1"});
    ASSERT_EQ(first.value("view", ""), "1") << first.dump();
  }

  void restart(std::uint32_t id, std::uint32_t count, const std::vector<std::string>& more = {}) {
    node(id).process->kill_now();
    ASSERT_NO_FATAL_FAILURE(start(id, count, more));
    ASSERT_NO_FATAL_FAILURE(await_ready(id));
  }

  static nlohmann::json member(const Ctl& ctl, std::uint32_t id) {
    return ctl.json({"--timeout", "30s", "member", "watch", "--count", "1"})["members"][id - 1];
  }

  // The view says so by itself, sooner or later.
  static void await_address(const Ctl& ctl,
                            std::uint32_t id,
                            const std::pair<std::string, std::string>& wanted) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (member(ctl, id).value(wanted.first, "") != wanted.second) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest) << member(ctl, id).dump();
    }
  }

  const std::string turn_;
  const ScratchFolder directory_;
  std::array<Node, kNodes> nodes_;
  std::array<std::string, kNodes + 1> peers_;  // As --peer names them.
  std::array<std::string, 2> elsewhere_;
};

class AddressTurnTest : public AtBothTurns<AddressProcessTest> {};

TEST_P(AddressTurnTest, ClientsFindANodeThatStartsAtAnotherClientPort) {
  ASSERT_NO_FATAL_FAILURE(start_all(kNodes));
  const std::vector<std::string> others = {node(1).client, node(2).client};
  client::ClientOptions options;
  options.endpoints = others;
  options.request_timeout = kPatience;
  auto client = client::Client::connect(std::move(options));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto session = client.value().open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
  ASSERT_TRUE(session.ok()) << session.status().to_string();

  node(3).client = elsewhere_[0];
  ASSERT_NO_FATAL_FAILURE(restart(3, kNodes));
  const Ctl ctl{comma_list(others)};
  ASSERT_NO_FATAL_FAILURE(await_address(ctl, 3, {"client_address", elsewhere_[0]}));
  // From now on node 3 leads every shard.
  for (const char* const drained : {"1", "2"}) {
    const Finished moved = ctl({"--timeout", "60s", "member", "drain", drained, "--wait"});
    EXPECT_EQ(moved.code, 0) << moved.err;
  }
  const auto grant = ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
  const auto lock = session.value().acquire("b", {.wait = {}});
  EXPECT_TRUE(lock.ok()) << lock.status().to_string();

  // The same by what the operator says.
  ASSERT_NO_FATAL_FAILURE(restart(2, kNodes, {"--advertise-client", elsewhere_[1]}));
  ASSERT_NO_FATAL_FAILURE(await_address(ctl, 2, {"client_address", elsewhere_[1]}));
}

// The others call it where the view has it now, though their flags name the old place.
TEST_P(AddressTurnTest, NodesFindOneThatStartsAtAnotherPeerPort) {
  ASSERT_NO_FATAL_FAILURE(start_all(kNodes));
  node(3).peer = elsewhere_[0];
  ASSERT_NO_FATAL_FAILURE(restart(3, kNodes));
  const Ctl ctl{node(1).client + "," + node(2).client};
  ASSERT_NO_FATAL_FAILURE(await_address(ctl, 3, {"peer_address", elsewhere_[0]}));
  ASSERT_NO_FATAL_FAILURE(restart(1, kNodes));
  ASSERT_NO_FATAL_FAILURE(await_address(Ctl{node(1).client}, 3, {"peer_address", elsewhere_[0]}));
  const auto grant = ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
}

INSTANTIATE_TEST_SUITE_P(BothTurns, AddressTurnTest, both_turns(), turn_name);

TEST_F(AddressProcessTest, ANodeAloneIsFoundWhereItListensNow) {
  ASSERT_NO_FATAL_FAILURE(start_all(1));
  node(1).client = elsewhere_[0];
  ASSERT_NO_FATAL_FAILURE(restart(1, 1));
  const Ctl ctl{elsewhere_[0]};
  ASSERT_NO_FATAL_FAILURE(await_address(ctl, 1, {"client_address", elsewhere_[0]}));
  const auto grant = ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
}

}  // namespace
}  // namespace gcoord::cli
