// gcoordctl bench against real nodes: each verb, wrong options, a node that dies, Ctrl-C.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using nlohmann::json;

std::vector<std::string> bench(const std::string& operation, std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "bench", operation, "--clients", "8", "--connections", "2", "--keys", "20"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class BenchTurnTest : public testing::TestWithParam<std::string> {
 protected:
  // One verb at a rate, with all of its files.
  void answers_what_is_due(const std::string& operation) const {
    const ScratchFolder folder;
    const std::string csv = (folder.path() / "run.csv").string();
    const std::string html = (folder.path() / "run.html").string();
    const std::string hgrm = (folder.path() / "run.hgrm").string();
    const json answer = nodes_.ctl().json(bench(operation,
                                                {"--rate",
                                                 "100",
                                                 "--duration",
                                                 "500ms",
                                                 "--threads",
                                                 "2",
                                                 "--distribution",
                                                 "zipf",
                                                 "--csv",
                                                 csv,
                                                 "--report",
                                                 html,
                                                 "--histogram",
                                                 hgrm}));
    EXPECT_EQ(answer["operation"], operation);
    EXPECT_EQ(answer["due"], "50");
    EXPECT_EQ(answer["answered"], "50") << answer;
    EXPECT_EQ(answer["errors"], "0") << answer;
    EXPECT_GT(answer["latency_ms"]["p50"].get<double>(), 0);
    EXPECT_GE(answer["latency_ms"]["max"], answer["latency_ms"]["p50"]);
    EXPECT_TRUE(answer["bound"].is_string());
    EXPECT_GT(answer["node_cost"]["socket_calls_per_request"].get<double>(), 0) << answer;
    EXPECT_NE(file_text(csv).find("\ngcoord," + operation + ",0,0.5,50,50,0,"), std::string::npos)
        << file_text(csv);
    EXPECT_NE(file_text(html).find("</html>"), std::string::npos);
    EXPECT_NE(file_text(hgrm).find("Total count    =           50]"), std::string::npos);
  }

  const TurnNodes nodes_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(BothTurns, BenchTurnTest, both_turns(), turn_name);

TEST_P(BenchTurnTest, O6EachVerbAnswersWhatIsDueAndWritesItsFiles) {
  for (const char* operation : {"lock", "lease", "elect", "watch", "read"}) {
    answers_what_is_due(operation);
  }
}

TEST_P(BenchTurnTest, O6AStandardLoadHasAVerdictThatIsTheExitCode) {
  const Finished finished = nodes_.ctl()(
      {"-o", "json", "bench", "lock", "--load", "s", "--duration", "500ms", "--keys", "20"});
  const json answer = finished.json();
  EXPECT_EQ(answer["rate"], 150);
  EXPECT_EQ(answer["clients"], 50);
  ASSERT_EQ(answer["checks"].size(), 4u) << finished.out << finished.err;
  bool all = true;
  for (const json& check : answer["checks"]) {
    all = all && check["pass"].get<bool>();
  }
  EXPECT_EQ(answer["verdict"] == "PASS", all);
  EXPECT_EQ(finished.code, all ? 0 : 1);
}

TEST(BenchProcessTest, WithoutARateLocksAreTakenInAClosedLoopAsBefore) {
  const DevNode node;
  const json answer = node.ctl().json({"bench",
                                       "lock",
                                       "--seconds",
                                       "0.2",
                                       "--clients",
                                       "2",
                                       "--pipeline",
                                       "2",
                                       "--names",
                                       "distinct",
                                       "--ttl",
                                       "10s"});
  EXPECT_GT(std::stoi(answer["pairs"].get<std::string>()), 0);
  EXPECT_EQ(answer["pipeline"], 2);
  EXPECT_FALSE(answer.contains("rate"));
  EXPECT_GT(answer["node_cost"]["requests_per_frame"].get<double>(), 0) << answer;
}

TEST_P(BenchTurnTest, O6BatchesAreTakenInAClosedLoop) {
  const json answer =
      nodes_.ctl().json({"bench", "lock", "--seconds", "0.2", "--clients", "2", "--batch", "16"});
  EXPECT_EQ(answer["batch"], 16);
  EXPECT_EQ(answer["errors"], "0") << answer;
  EXPECT_GT(std::stoi(answer["pairs"].get<std::string>()), 0);
  // One frame for each node that leads shards of it.
  const double frames = GetParam() == "host" ? 2 : 6;
  EXPECT_GT(answer["node_cost"]["requests_per_frame"].get<double>(), 16 / frames) << answer;
}

TEST(BenchProcessTest, OptionsThatCannotBeUsedAreNamed) {
  const Ctl nobody{"127.0.0.1:1"};
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"bench", "lock", "--rate", "0"}, "--rate"},
      {{"bench", "read", "--duration", "0s"}, "--duration"},
      {{"bench", "read", "--duration", "soon"}, "--duration"},
      {{"bench", "lock", "--load", "xxl"}, "--load"},
      {{"bench", "lock", "--load", "s", "--rate", "7"}, "--rate is part of --load"},
      {{"bench", "lock", "--csv", "a.csv"}, "--csv needs --rate or --load"},
      {{"bench", "lock", "--batch", "0"}, "--batch"},
      {{"bench", "lock", "--batch", "4097"}, "--batch"},
      {{"bench", "lock", "--rate", "7", "--batch", "2"}, "--batch belongs to the closed loop"},
      {{"bench", "lock", "--batch", "2", "--pipeline", "2"}, "--pipeline does not go with --batch"},
      {{"bench", "lock", "--rate", "7", "--history", "h"}, "--history belongs to the closed loop"},
      {{"bench", "read", "--distribution", "normal"}, "--distribution"},
      {{"bench", "read", "--csv", "/nonexistent/a.csv"}, "--csv '/nonexistent/a.csv'"},
      {{"bench", "lease", "--history", "h"}, "--history"},
  };
  for (const auto& [arguments, named] : cases) {
    const Finished finished = nobody(arguments);
    EXPECT_EQ(finished.code, 2) << arguments[1] << " " << arguments[2];
    EXPECT_NE((finished.out + finished.err).find(named), std::string::npos)
        << finished.out << finished.err;
  }
}

TEST(BenchProcessTest, WithoutACluster) {
  const Finished finished = Ctl{"127.0.0.1:1"}({"-o", "json", "bench", "read", "--rate", "10"});
  EXPECT_EQ(finished.code, 3);
  EXPECT_EQ(finished.error_code(), "GC3001");
}

// The names of `bench read` are held before the run begins, and as long as it goes on.
void await_run(const Ctl& ctl) {
  while (ctl({"-o", "json", "lock", "get", "bench/read/19"}).code != 0) {
  }
}

TEST(BenchProcessTest, ANodeThatDiesInTheMidstIsCountedAndTheRunEnds) {
  DevNode node;
  ChildProcess run = node.ctl().start(
      bench("read", {"-o", "json", "--timeout", "300ms", "--rate", "100", "--duration", "3s"}));
  await_run(node.ctl());
  node.child().kill_now();
  const json answer = json::parse(run.read_all(kPatience), nullptr, false);
  const int code = run.wait_for(kPatience).value_or(-1);
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["due"], "300");
  EXPECT_GT(std::stoi(answer["errors"].get<std::string>()), 0) << answer;
  EXPECT_FALSE(answer["causes"].empty());
  EXPECT_TRUE(code == 1 || code == 5) << code;
}

TEST(BenchProcessTest, CtrlCEndsARunWithWhatThereIs) {
  const DevNode node;
  ChildProcess run =
      node.ctl().start(bench("read", {"-o", "json", "--rate", "100", "--duration", "10m"}));
  await_run(node.ctl());
  run.signal(SIGINT);
  const json answer = json::parse(run.read_all(kPatience), nullptr, false);
  EXPECT_EQ(run.wait_for(kPatience), 128 + SIGINT);
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["stopped"], true);
  EXPECT_LT(answer["seconds"].get<double>(), 600);
}

}  // namespace
}  // namespace gcoord::cli
