// gcoordctl elect candidates, proclaim and transfer: who leads next, and that nobody leads twice.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class ElectLineNodesTest : public testing::Test {
 protected:
  explicit ElectLineNodesTest(const std::string& turn = "host") : node_(turn) {}

  ChildProcess candidate(const std::vector<std::string>& more, const std::string& ttl = "60s") {
    std::vector<std::string> words{"-o", "json", "elect", "campaign", "chief", "--ttl", ttl};
    words.insert(words.end(), more.begin(), more.end());
    return ctl_.start(words);
  }

  static nlohmann::json next_line(ChildProcess& child) {
    return nlohmann::json::parse(child.read_line(kPatience).value_or(""), nullptr, false);
  }

  void wait_for_candidates(int count) const {
    while (ctl_.json({"elect", "leader", "chief"})["candidates_waiting"] != count) {
    }
  }

  static std::uint64_t number(const nlohmann::json& text) {
    return std::stoull(text.get<std::string>());
  }

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class ElectLineTest : public AtBothTurns<ElectLineNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, ElectLineTest, both_turns(), turn_name);

TEST_P(ElectLineTest, E2AProclaimedValueIsReadAndALateOneRefused) {
  const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  const auto proclaim = [&](const std::string& value, int exit = 0) {
    return ctl_.json({"elect",
                      "proclaim",
                      "chief",
                      value,
                      "--epoch",
                      office["epoch"],
                      "--session",
                      office["session"]},
                     exit);
  };
  EXPECT_EQ(proclaim("10.0.0.7:80")["value"], "10.0.0.7:80");
  const auto leader = ctl_.json({"elect", "leader", "chief"});
  EXPECT_EQ(leader["value"], "10.0.0.7:80");
  EXPECT_EQ(leader["epoch"], office["epoch"]);
  ctl_.json(
      {"elect", "resign", "chief", "--epoch", office["epoch"], "--session", office["session"]});
  EXPECT_EQ(proclaim("late", 1)["error"]["code"], "GC6110");
}

TEST_P(ElectLineTest, E6TheLeaderHandsOverToWhomItIsAskedFor) {
  ChildProcess first = candidate({"--value", "eu-1", "--review", "20ms"});
  const auto office = next_line(first);
  ChildProcess second = candidate({"--value", "eu-2", "--review", "20ms"});
  wait_for_candidates(1);
  ChildProcess third = candidate({"--value", "eu-3", "--priority", "7"});
  wait_for_candidates(2);
  const auto line = ctl_.json({"elect", "candidates", "chief"});
  EXPECT_EQ(line["value"], "eu-1");
  ASSERT_EQ(line["candidates"].size(), 2u);
  EXPECT_EQ(line["candidates"][1]["value"], "eu-3");
  EXPECT_EQ(line["candidates"][1]["priority"], 7);
  EXPECT_THAT(ctl_({"elect", "candidates", "chief"}).out, HasSubstr("eu-2"));

  EXPECT_EQ(ctl_.json({"elect", "transfer", "chief", "--to", "eu-9"}, 1)["error"]["code"],
            "GC6111");
  const auto given = ctl_.json({"elect", "transfer", "chief", "--to", "eu-3"});
  EXPECT_EQ(given["value"], "eu-3");
  EXPECT_GT(number(given["epoch"]), number(office["epoch"]));
  EXPECT_EQ(next_line(third)["epoch"], given["epoch"]);
  EXPECT_EQ(first.wait_for(kPatience), 6) << "its office is over, and its process says so";
  EXPECT_EQ(ctl_.json({"elect", "candidates", "chief"})["candidates"][0]["value"], "eu-2");
}

TEST_P(ElectLineTest, E6ALeaderThatLeftIsSpokenForByItsSessionAndEpoch) {
  const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  ChildProcess next = candidate({"--value", "eu-2"});
  wait_for_candidates(1);
  EXPECT_EQ(ctl_.json({"elect", "transfer", "chief", "--to", "eu-2", "--wait", "300ms"},
                      6)["error"]["code"],
            "GC6112")
      << "there is nobody to hand over";
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"})["epoch"], office["epoch"]);
  const std::vector<std::string> transfer = {"elect",
                                             "transfer",
                                             "chief",
                                             "--to",
                                             "eu-2",
                                             "--epoch",
                                             office["epoch"],
                                             "--session",
                                             office["session"]};
  EXPECT_EQ(ctl_.json(transfer)["value"], "eu-2");
  EXPECT_EQ(next_line(next)["name"], "chief");
}

// A leader whose process stands still hands nothing over; when it goes on, its term is over, and it
// says so before anything else.
TEST_P(ElectLineTest, E7APausedLeaderIsNotDeposedByAnAskAndLeadsNoMoreWhenItGoesOn) {
  ChildProcess first = candidate({"--value", "eu-1", "--review", "20ms"}, "1s");
  const auto office = next_line(first);
  ChildProcess second = candidate({"--value", "eu-2"});
  wait_for_candidates(1);
  first.signal(SIGSTOP);
  const auto next = next_line(second);
  EXPECT_GT(number(next["epoch"]), number(office["epoch"])) << "by the end of its lease";
  first.signal(SIGCONT);
  EXPECT_EQ(first.wait_for(kPatience), 6);
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"})["epoch"], next["epoch"]);
}

TEST_P(ElectLineTest, E9APreferredCandidateTakesOver) {
  ChildProcess first = candidate(
      {"--priority", "3", "--hysteresis", "100ms", "--review", "20ms", "--value", "eu-1"});
  next_line(first);
  ChildProcess same = candidate({"--priority", "3"});
  wait_for_candidates(1);
  ChildProcess higher = candidate({"--priority", "4", "--value", "eu-3"});
  EXPECT_EQ(next_line(higher)["name"], "chief");
  EXPECT_EQ(first.wait_for(kPatience), 6);
  EXPECT_EQ(ctl_.json({"elect", "leader", "chief"})["value"], "eu-3");
}

}  // namespace
}  // namespace gcoord::cli
