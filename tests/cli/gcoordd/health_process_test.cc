// What stands around a node: its HTTP ports under slow requests, its health over HTTP and by
// gcoordctl, and its notices to systemd.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"
#include "tests/notify_socket.h"
#include "tests/server/http/raw_http.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using server::http_answer;
using server::kHalfRequest;
using server::kOtherHalf;
using server::RawHttp;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::uint16_t port_of(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
}

std::vector<RawHttp> half_requests(std::uint16_t port, std::size_t count) {
  std::vector<RawHttp> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(port);
    clients.back().send(kHalfRequest);
  }
  return clients;
}

// Issue 23, A15.
TEST(HttpPorts, HalfRequestsStopNeitherMetricsNorTheLedger) {
  DevNode node({"--listen-metrics", "127.0.0.1:0", "--listen-ledger", "127.0.0.1:0"});
  const std::uint16_t metrics = port_of(node.metrics());
  const std::uint16_t ledger = port_of(node.ledger());
  std::vector<RawHttp> slow = half_requests(metrics, 3);
  for (RawHttp& client : half_requests(ledger, 64)) {
    slow.push_back(std::move(client));
  }
  // The system has made these connections; the port takes them a moment later.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const std::string all = "gcoord_http_connections{port=\"ledger\"} 64";
  std::string page;
  while (page.find(all) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    page = http_answer(metrics, "GET /metrics");
  }
  EXPECT_THAT(
      page,
      AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("gcoord_server_turns_total"), HasSubstr(all)));
  EXPECT_THAT(http_answer(metrics, "GET /livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http_answer(ledger, "GET /key"), StartsWith("HTTP/1.1 200"));
  for (RawHttp& client : slow) {  // They were open all the time.
    ASSERT_TRUE(client.send(kOtherHalf));
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 4"));  // There is no such page.
  }
}

TEST(HttpPorts, HealthIsWithTheMetricsAndNotWithTheLedger) {
  DevNode node({"--listen-metrics", "127.0.0.1:0", "--listen-ledger", "127.0.0.1:0"});
  EXPECT_THAT(http_answer(port_of(node.metrics()), "GET /readyz"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\n\r\nok\n")));
  EXPECT_THAT(http_answer(port_of(node.metrics()), "GET /"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(http_answer(port_of(node.ledger()), "GET /readyz"), Not(StartsWith("HTTP/1.1 200")));
}

class HealthProcessTest : public testing::Test {
 protected:
  explicit HealthProcessTest(const std::string& turn = "host") {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 16;
    options.arguments_of_node = turn_of_all(turn);
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
  }

  std::string http(std::uint32_t node, const std::string& path) const {
    return http_answer(cluster_->metrics_port(node), "GET " + path);
  }

  Ctl ctl() const { return Ctl{comma_list(cluster_->endpoints())}; }

  // The check of this name in an answer of `?verbose` or of gcoordctl.
  static nlohmann::json check(const nlohmann::json& health, const std::string& name) {
    for (const auto& each : health["checks"]) {
      if (each["name"] == name) {
        return each;
      }
    }
    return {};
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

TEST_F(HealthProcessTest, ANodeAloneIsLiveAndNotReadyAndNamesWhomItDoesNotHear) {
  ASSERT_TRUE(cluster_->spawn(1).ok());
  ASSERT_TRUE(cluster_->wait_serving(1, kPatience).ok());
  EXPECT_THAT(http(1, "/livez"), StartsWith("HTTP/1.1 200"));
  // Its first look at its peers may be a moment away.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string answer;
  while (answer.find("majority: ") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    answer = http(1, "/readyz");
  }
  EXPECT_THAT(answer,
              AllOf(StartsWith("HTTP/1.1 503"),
                    HasSubstr("majority: not heard: node 2 at 127.0.0.1:" +
                              std::to_string(cluster_->peer_port(2)))));
  const Ctl alone(cluster_->endpoints().front());
  const auto told = alone.json({"health", "--node", "1"}, 1);
  EXPECT_EQ(told["ready"], false);
  EXPECT_EQ(told["nodes"][0]["live"], true);
  EXPECT_EQ(check(told["nodes"][0], "majority")["ok"], false);
  EXPECT_EQ(alone.json({"health"}, 3)["nodes"].size(), 3u);
  EXPECT_THAT(alone({"health", "--node", "1"}).out, HasSubstr("majority: not heard: node 2"));
}

class HealthTurnTest : public AtBothTurns<HealthProcessTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, HealthTurnTest, both_turns(), turn_name);

TEST_P(HealthTurnTest, ReadyNodesAreHealthyUntilOneIsGone) {
  ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    EXPECT_THAT(http(node, "/readyz"), StartsWith("HTTP/1.1 200"));
    const std::string verbose = http(node, "/readyz?verbose");
    const auto json = nlohmann::json::parse(verbose.substr(verbose.find("\r\n\r\n")));
    EXPECT_EQ(json["ready"], true);
    for (const char* name : {"turns", "serves", "majority", "disk", "ledger", "alarms"}) {
      EXPECT_EQ(check(json, name)["ok"], true) << name << " of " << json.dump();
    }
  }
  EXPECT_EQ(ctl().json({"health"})["ready"], true);
  EXPECT_EQ(ctl().json({"health", "--node", "9"}, 2)["error"]["code"], "GC1001");
  cluster_->kill(3);
  const auto told = ctl().json({"health"}, 3);
  EXPECT_EQ(told["ready"], false);
  EXPECT_EQ(told["nodes"][2]["reachable"], false);
  EXPECT_EQ(ctl().json({"health", "--node", "1"})["nodes"].size(), 1u);
}

TEST(SystemdProcessTest, TheManagerHearsThatANodeIsReadyTurnsAndStops) {
  const ScratchFolder folder;
  NotifySocket systemd(folder.path("notify"));
  ChildOptions options = program("gcoordd",
                                 {"dev",
                                  "--shards",
                                  "16",
                                  "--listen-client",
                                  "127.0.0.1:0",
                                  "--data-dir",
                                  folder.path("data")});
  options.environment.emplace_back("NOTIFY_SOCKET", folder.path("notify"));
  options.environment.emplace_back("WATCHDOG_USEC", "200000");
  auto node = ChildProcess::start(options);
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(systemd.next_with("READY=1"), "READY=1\nSTATUS=ready");
  EXPECT_EQ(systemd.next_with("WATCHDOG=1"), "WATCHDOG=1");
  EXPECT_EQ(systemd.next_with("WATCHDOG=1"), "WATCHDOG=1");  // An idle loop turns for it.
  node.value().signal(SIGTERM);
  EXPECT_EQ(systemd.next_with("STOPPING=1"), "STOPPING=1\nSTATUS=stopping: SIGTERM");
  EXPECT_EQ(node.value().wait_for(kPatience), 0);
}

}  // namespace
}  // namespace gcoord::cli
