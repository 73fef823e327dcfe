// gcoordctl elect: shapes, exit codes, and who leads after a kill -9.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class ElectNodesTest : public testing::Test {
 protected:
  explicit ElectNodesTest(const std::string& turn = "host") : node_(turn) {}

  // A candidate that campaigns until it is told to stop; its lines are its own.
  ChildProcess candidate(const std::string& ttl = "60s") const {
    return ctl_.start({"-o", "json", "elect", "campaign", "chief", "--ttl", ttl});
  }

  static nlohmann::json next_line(ChildProcess& child) {
    return nlohmann::json::parse(child.read_line(kPatience).value_or(""), nullptr, false);
  }

  // Waits until so many stand in line behind the leader.
  void wait_for_candidates(int count) const {
    while (ctl_.json({"elect", "leader", "chief"})["candidates_waiting"] != count) {
    }
  }

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class ElectTest : public AtBothTurns<ElectNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, ElectTest, both_turns(), turn_name);

TEST_P(ElectTest, E1ACampaignLeadsUntilASignalAndThenResigns) {
  ChildProcess first = candidate();
  const auto office = next_line(first);
  EXPECT_EQ(office["name"], "chief");
  EXPECT_TRUE(office["epoch"].is_string());
  EXPECT_TRUE(office["session"].is_string());
  EXPECT_GT(office["ttl_ms"], 0);
  ChildProcess second = candidate();
  wait_for_candidates(1);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait_for(kPatience), 0);
  const auto next = next_line(second);
  EXPECT_GT(std::stoull(next["epoch"].get<std::string>()),
            std::stoull(office["epoch"].get<std::string>()));
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"})["session"], next["session"]);
}

TEST_P(ElectTest, E1ACampaignThatMayNotWaitSaysWhoLeads) {
  ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  EXPECT_EQ(ctl_.json({"elect", "campaign", "chief", "--try"}, 6)["error"]["code"], "GC6001");
  EXPECT_EQ(ctl_.json({"elect", "campaign", "chief", "--wait", "50ms"}, 6)["error"]["code"],
            "GC6005");
}

TEST_P(ElectTest, E1ASignalEndsACampaignThatWaits) {
  ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  ChildProcess waiting = candidate();
  wait_for_candidates(1);
  waiting.signal(SIGINT);
  EXPECT_EQ(waiting.wait_for(kPatience), 128 + SIGINT);
  wait_for_candidates(0);
}

TEST_P(ElectTest, E3NobodyLeadsIsACodeOfItsOwnAndANegativeAnswer) {
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"}, 1)["error"]["code"], "GC6101");
  const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  const auto leader = ctl_.json({"elect", "leader", "chief"});
  EXPECT_EQ(leader["name"], "chief");
  EXPECT_EQ(leader["session"], office["session"]);
  EXPECT_EQ(leader["epoch"], office["epoch"]);
  EXPECT_EQ(leader["candidates_waiting"], 0);
  EXPECT_GT(leader["ttl_ms"], 0);
  EXPECT_THAT(ctl_({"elect", "leader", "chief"}).out, HasSubstr("epoch"));
}

TEST_P(ElectTest, E5AResignationHandsOverAtOnceAndAStaleOneIsANoOp) {
  const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "1h"});
  ChildProcess second = candidate();
  wait_for_candidates(1);
  const std::vector<std::string> resign = {
      "elect", "resign", "chief", "--epoch", office["epoch"], "--session", office["session"]};
  EXPECT_EQ(ctl_.json(resign)["resigned"], true);
  const auto next = next_line(second);
  EXPECT_EQ(ctl_.json(resign)["resigned"], false);
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"})["epoch"], next["epoch"]);
}

TEST_P(ElectTest, E8EpochsOfANameRiseOverAllOfItsLeaders) {
  std::uint64_t highest = 0;
  for (int term = 0; term < 3; ++term) {
    const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
    const std::uint64_t epoch = std::stoull(office["epoch"].get<std::string>());
    EXPECT_GT(epoch, highest);
    highest = epoch;
    ctl_.json(
        {"elect", "resign", "chief", "--epoch", office["epoch"], "--session", office["session"]});
  }
}

// Three nodes; the leading candidate is killed, and then the node that led the election's shard.
TEST(ElectProcessTest, E1TheNextInLineIsElectedAfterAKillOfTheLeadingCandidate) {
  const ScratchFolder directory;
  chaos::LocalClusterOptions options;
  options.program = chaos::program_beside("gcoordd");
  options.directory = directory.path();
  options.shards = 64;
  auto planned = chaos::LocalCluster::plan(options);
  ASSERT_TRUE(planned.ok()) << planned.status().to_string();
  chaos::LocalCluster& cluster = planned.value();
  const Status started = cluster.start_all(kPatience);
  ASSERT_TRUE(started.ok()) << started.to_string();
  const Ctl ctl{comma_list(cluster.endpoints())};
  const auto campaign = [&](const std::string& ttl) {
    return ctl.start(
        {"-o", "json", "--timeout", "60s", "elect", "campaign", "chief", "--ttl", ttl});
  };

  ChildProcess first = campaign("5s");
  const auto office = nlohmann::json::parse(first.read_line(kPatience).value_or(""));
  ChildProcess second = campaign("60s");
  while (ctl.json({"elect", "leader", "chief"})["candidates_waiting"] != 1) {
  }
  first.kill_now();
  const auto next = nlohmann::json::parse(second.read_line(kPatience).value_or(""));
  EXPECT_GT(std::stoull(next["epoch"].get<std::string>()),
            std::stoull(office["epoch"].get<std::string>()));
  EXPECT_EQ(ctl.json({"elect", "leader", "chief"})["session"], next["session"]);

  // One node less: whoever led the shard, the election goes on under the same epoch.
  cluster.kill(1);
  const auto after = ctl.json({"--timeout", "60s", "elect", "leader", "chief"});
  EXPECT_EQ(after["epoch"], next["epoch"]);
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait_for(kPatience), 0);
}

}  // namespace
}  // namespace gcoord::cli
