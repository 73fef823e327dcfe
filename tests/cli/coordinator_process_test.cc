// gcoordd --coordinator as three processes: who coordinates, what follows when that one is killed,
// what it does, and what is said where the operator told nodes differently.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <utility>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CoordinatorCluster : public testing::Test {
 protected:
  // `more` are further arguments of every node, `own` of each.
  void start(const std::vector<std::string>& more,
             const std::vector<std::vector<std::string>>& own = {}) {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 16;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    options.node_arguments.insert(options.node_arguments.end(), more.begin(), more.end());
    options.arguments_of_node = own;
    auto planned = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(comma_list(cluster_->endpoints()));
  }

  // What the nodes that answer say of their coordinator, by node.
  std::map<std::uint32_t, json> told() const {
    std::map<std::uint32_t, json> coordinators;
    const json status = (*ctl_)({"-o", "json", "status"}).json();
    if (status.is_object() && status.contains("nodes")) {
      for (const json& node : status["nodes"]) {
        if (node.contains("coordinator")) {
          coordinators[node["node"].get<std::uint32_t>()] = node["coordinator"];
        }
      }
    }
    return coordinators;
  }

  // Asks until these nodes, and no others, answer and name one coordinator of `any_of`. The
  // patience only bounds a failure.
  std::uint32_t wait_agreed(const std::set<std::uint32_t>& nodes,
                            const std::set<std::uint32_t>& any_of) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::map<std::uint32_t, json> seen;
    while (std::chrono::steady_clock::now() < until) {
      seen = told();
      std::set<std::uint32_t> answered;
      std::set<std::uint32_t> named;
      for (const auto& [node, coordinator] : seen) {
        answered.insert(node);
        named.insert(coordinator["node"].get<std::uint32_t>());
      }
      if (answered == nodes && named.size() == 1 && any_of.contains(*named.begin())) {
        return *named.begin();
      }
    }
    ADD_FAILURE() << "the nodes did not agree; the last answers are " << json(seen).dump();
    return 0;
  }

  // Two sessions wait for each other; one of them is told so. Which one is for the leaders to say:
  // a wait begins anew where its shard has another leader.
  void close_circle() const {
    const json one = acquire("a");
    const json two = acquire("b");
    ChildProcess first = also(one, "b");
    ChildProcess second = also(two, "a");
    const auto until = std::chrono::steady_clock::now() + kPatience;
    bool first_ended = false;
    std::optional<int> code;
    while (!code.has_value() && std::chrono::steady_clock::now() < until) {
      first_ended = !first_ended;
      code = (first_ended ? first : second).wait_for(std::chrono::milliseconds{100});
    }
    ASSERT_EQ(code, 6) << (*ctl_)({"lock", "list", "--waiters"}).out << (*ctl_)({"status"}).out;
    const json answer =
        json::parse((first_ended ? first : second).read_all(kPatience), nullptr, false);
    ASSERT_TRUE(answer.is_object());
    EXPECT_EQ(answer["error"]["code"], "GC6040");
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("waits for \"a\""));
    const json& kept = first_ended ? one : two;
    ctl_->json({"--timeout",
                "30s",
                "lock",
                "release",
                first_ended ? "a" : "b",
                "--token",
                kept["token"],
                "--session",
                kept["session"]});
    EXPECT_EQ((first_ended ? second : first).wait_for(kPatience), 0);
  }

  json acquire(const std::string& name) const {
    return ctl_->json({"--timeout", "30s", "lock", "acquire", name, "--ttl", "1h"});
  }

  ChildProcess also(const json& held, const std::string& name) const {
    return ctl_->start(
        {"-o", "json", "lock", "acquire", name, "--ttl", "1h", "--session", held["session"]});
  }

  // By any node: one that is slow to be heard may be stood in for.
  std::uint32_t deadlocks_ended() const {
    std::uint32_t ended = 0;
    const json status = ctl_->json({"status"});
    for (const json& node : status["nodes"]) {
      ended +=
          static_cast<std::uint32_t>(std::stoul(node["deadlocks"]["ended"].get<std::string>()));
    }
    return ended;
  }

  // Until the table has the line; the patience only bounds a failure.
  void expect_line(const std::string& line) const {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::string table;
    do {
      table = (*ctl_)({"status"}).out;
    } while (table.find(line) == std::string::npos && std::chrono::steady_clock::now() < until);
    EXPECT_THAT(table, HasSubstr(line));
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

class ElectedCoordinatorTest : public CoordinatorCluster,
                               public testing::WithParamInterface<std::string> {};

TEST_P(ElectedCoordinatorTest, Row111And112AnotherNodeTakesOfficeWhenTheCoordinatorIsKilled) {
  ASSERT_NO_FATAL_FAILURE(start({"--coordinator", GetParam()}));
  ASSERT_EQ(wait_agreed({1, 2, 3}, {3}), 3u);
  for (const std::string node : {"node 1", "node 2", "node 3"}) {
    expect_line(node + ": coordinator is node 3, by " + GetParam());
  }
  close_circle();
  EXPECT_GE(deadlocks_ended(), 1u);

  cluster_->kill(3);
  ASSERT_EQ(wait_agreed({1, 2}, {2}), 2u);
  std::map<std::uint32_t, json> before = told();
  EXPECT_NE(before[2]["won"], "0");
  EXPECT_NE(before[2]["sent"]["coordinator"], "0");

  ASSERT_TRUE(cluster_->spawn(3).ok());
  ASSERT_TRUE(cluster_->wait_ready(3, kPatience).ok());
  ASSERT_EQ(wait_agreed({1, 2, 3}, {3}), 3u);
  for (const auto& [node, coordinator] : told()) {
    EXPECT_EQ(coordinator["method"], GetParam());
    EXPECT_EQ(coordinator["dropped"], "0");
    EXPECT_EQ(coordinator["other_method"], "0");
  }
  EXPECT_THAT(file_text(cluster_->log_file(1)),
              HasSubstr("node 2 is the coordinator, elected by " + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Methods,
                         ElectedCoordinatorTest,
                         testing::Values("bully", "ring"),
                         [](const auto& each) { return each.param; });

TEST_F(CoordinatorCluster, Row111And112ByDefaultTheLeaderOfShard0Coordinates) {
  ASSERT_NO_FATAL_FAILURE(start({}));
  const std::uint32_t first = wait_agreed({1, 2, 3}, {1, 2, 3});
  cluster_->kill(first);
  std::set<std::uint32_t> left = {1, 2, 3};
  left.erase(first);
  EXPECT_NE(wait_agreed(left, left), 0u);
  for (const auto& [node, coordinator] : told()) {
    EXPECT_EQ(coordinator["method"], "raft");
    for (const char* what : {"election", "answer", "coordinator", "again"}) {
      EXPECT_EQ(coordinator["sent"][what], "0");
    }
  }
}

TEST_F(CoordinatorCluster, Row111And112NodesThatElectDifferentlySayWhoDoes) {
  ASSERT_NO_FATAL_FAILURE(start(
      {}, {{"--coordinator", "bully"}, {"--coordinator", "ring"}, {"--coordinator", "bully"}}));
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::map<std::uint32_t, json> seen;
  const auto shown = [&] {
    seen = told();
    return seen.size() == 3 && !seen[2]["others"].empty() && !seen[3]["others"].empty();
  };
  while (!shown() && std::chrono::steady_clock::now() < until) {
  }
  ASSERT_TRUE(shown()) << json(seen).dump();
  EXPECT_EQ(seen[3]["others"][0]["node"], 2);
  EXPECT_EQ(seen[3]["others"][0]["method"], "ring");
  EXPECT_NE(seen[2]["other_method"], "0");
  expect_line("node 3: WARNING: elects its coordinator by bully, but node 2 by ring");
  close_circle();
}

class CoordinatorTurnTest : public CoordinatorCluster,
                            public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, CoordinatorTurnTest, both_turns(), turn_name);

TEST_P(CoordinatorTurnTest, Row111And112TheNextOneIsElectedWhenTheCoordinatorIsKilled) {
  ASSERT_NO_FATAL_FAILURE(
      start({"--coordinator", "bully", "--durability", "memory"}, turn_of_all(GetParam())));
  ASSERT_EQ(wait_agreed({1, 2, 3}, {3}), 3u);
  cluster_->kill(3);
  EXPECT_EQ(wait_agreed({1, 2}, {2}), 2u);
}

}  // namespace
}  // namespace gcoord::cli
