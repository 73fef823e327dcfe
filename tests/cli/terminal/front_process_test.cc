// What a new user of gcoordctl types first, and what the answers say.
#include "chaos/process/free_ports.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Front, AMistypedOptionAndAMissingVerbAreToldAsSuch) {
  const Ctl ctl{"127.0.0.1:1"};
  const Finished mistyped = ctl({"lock", "acquire", "a", "--tttl", "5s"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_THAT(
      mistyped.err,
      HasSubstr("gcoordctl lock acquire has no option --tttl; the nearest is --ttl. (GC1001)"));
  const Finished missing = ctl({"lock"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("gcoordctl lock needs a verb: acquire, release"));
  EXPECT_THAT(missing.err, HasSubstr("GC1002"));
}

// As etcdctl and consul take it.
TEST(Front, ACommandOfLockRunThatIsNotBehindTwoDashesIsExplained) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"lock", "run", "a", "sleep", "1"},
                                             {"lock", "run", "a", "ls", "-l"},
                                             {"lock", "run", "a", "--wait", "1s", "ls", "--all"}}) {
    const Finished refused = run("gcoordctl", words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("lock run NAME -- CMD ARGUMENTS")) << words.back();
  }
}

TEST(Front, ANodeThatTheClusterDoesNotHaveIsWrongUsage) {
  const DevNode node;
  const std::string file = "never written";
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"shard", "show", "5"},
                                             {"shard", "ls"},
                                             {"health"},
                                             {"snapshot", "save", file},
                                             {"lock", "get", "a", "--max-staleness", "1s"}}) {
    std::vector<std::string> all = verb;
    all.insert(all.end(), {"--node", "9"});
    const auto error = node.ctl().json(all, 2)["error"];
    EXPECT_EQ(error["code"], "GC1001") << verb[0] << " " << verb.back();
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("no node 9"));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Front, AnEndpointThatIsAnotherPortOfANodeIsToldAsSuch) {
  const DevNode node({"--listen-metrics", "127.0.0.1:0"});
  const Finished refused = Ctl{node.metrics()}({"--timeout", "1s", "status"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("is this a node's port for clients?"));
}

TEST(Front, AVerbThatDoesNotExistHasNoHelp) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"txn", "--help"}, {"lock", "txn", "-h"}}) {
    const Finished finished = run("gcoordctl", words);
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr("has no verb 'txn'"));
    EXPECT_THAT(finished.err, HasSubstr("GC1006"));
  }
}

TEST(Front, HelpIsAVerbOfEveryGroup) {
  const std::vector<std::vector<std::string>> pairs[] = {
      {{"help"}, {"--help"}},
      {{"help", "lock", "acquire"}, {"lock", "acquire", "--help"}},
      {{"lock", "help"}, {"lock", "--help"}}};
  for (const auto& pair : pairs) {
    const Finished helped = run("gcoordctl", pair.front());
    EXPECT_EQ(helped.code, 0) << helped.err;
    EXPECT_EQ(helped.out, run("gcoordctl", pair.back()).out);
    EXPECT_THAT(helped.out, HasSubstr("Usage: gcoordctl"));
  }
}

TEST(Front, TheVersionIsAFlagToo) {
  const Finished finished = run("gcoordctl", {"--version"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.out, testing::MatchesRegex("gcoordctl [0-9.]+\n"));
}

TEST(Front, TheHelpOfStatusExplainsItsColumns) {
  const std::string help = run("gcoordctl", {"status", "--help"}).out;
  for (const char* column : {"LEADS:", "INCARNATION:", "PEERS:", "PHI:", "STEPPER:", "VOTES:"}) {
    EXPECT_THAT(help, HasSubstr(column));
  }
}

TEST(Front, TheHelpKnowsTheExitCodesOfTheDocument) {
  EXPECT_THAT(run("gcoordctl", {"--help"}).out, HasSubstr("4 not allowed"));
}

TEST(Front, AnEndpointWithoutAPortTakesTheDefaultAndAMalformedOneIsWrongUsage) {
  const Finished bare = run("gcoordctl", {"--endpoints", "127.0.0.2", "--timeout", "2s", "status"});
  EXPECT_EQ(bare.code, 3);
  EXPECT_THAT(bare.err, HasSubstr("127.0.0.2:7400"));
  for (const char* wrong : {"127.0.0.1:x", "http://a:7400", ":7400", "127.0.0.1:70000"}) {
    const auto error = Ctl{wrong}.json({"status"}, 2)["error"];
    EXPECT_EQ(error["code"], "GC1001") << wrong;
  }
  EXPECT_EQ(run("gcoordctl", {"--endpoints", ":", "version"}).code, 0) << "it calls nobody";
}

TEST(Front, ATimeMayHaveAPointAndSeveralUnits) {
  DevNode node;
  const Ctl ctl = node.ctl();
  EXPECT_EQ(ctl.json({"lock", "acquire", "a", "--ttl", "1h30m"})["ttl_ms"], 5'400'000);
  EXPECT_EQ(ctl.json({"lock", "acquire", "b", "--ttl", "1.5s"})["ttl_ms"], 1500);
  EXPECT_EQ(ctl.json({"lock", "acquire", "c", "--ttl", "1d"})["ttl_ms"], 86'400'000);
  EXPECT_EQ(ctl.json({"lock", "acquire", "d", "--ttl", "1d1ms"}, 2)["error"]["code"], "GC1105");
  EXPECT_EQ(ctl.json({"lock", "acquire", "d", "--ttl", "30m1h"}, 2)["error"]["code"], "GC1001");
}

TEST(Front, AWatchOfNoEventsIsRefused) {
  const Ctl ctl{"127.0.0.1:1"};
  EXPECT_EQ(ctl.json({"watch", "a", "--count", "0"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl.json({"elect", "observe", "a", "--count", "0"}, 2)["error"]["code"], "GC1001");
}

TEST(Front, A12WhatATerminalWouldObeyIsRefusedInWhatIsNew) {
  DevNode node;
  const Ctl ctl = node.ctl();
  EXPECT_EQ(ctl.json({"lock", "acquire", "a\u009b2J"}, 2)["error"]["code"], "GC1114");
  EXPECT_EQ(ctl.json({"lock", "acquire", "a", "\u202eb"}, 2)["error"]["code"], "GC1114");
  EXPECT_EQ(ctl.json({"lock", "ls", "\u2028"}, 2)["error"]["code"], "GC1114");
  EXPECT_EQ(ctl.json({"lock", "acquire", "a", "--note", "\x1b[2J"}, 2)["error"]["code"], "GC6028");
  EXPECT_EQ(ctl.json({"lock", "break", "a", "--reason", "\x1b[2J"}, 2)["error"]["code"], "GC6034");
  EXPECT_EQ(ctl.json({"lock", "get", "\u202e"}, 1)["held"], false) << "it may be there";
}

TEST(Front, NothingOfOurOwnIsPrintedAsItsNumber) {
  DevNode node;
  const Ctl ctl = node.ctl();
  ctl.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::vector<std::vector<std::string>> shown = {{"top", "--once", "--interval", "100ms"},
                                                       {"status"},
                                                       {"shard", "ls"},
                                                       {"lock", "ls"},
                                                       {"session", "list"}};
  for (const std::vector<std::string>& words : shown) {
    const Finished finished = ctl(words);
    EXPECT_EQ(finished.code, 0) << words[0] << finished.err;
    EXPECT_THAT(finished.out + finished.err, Not(HasSubstr("\\u{"))) << words[0];
  }
}

// Counts sessions as an operator does.
int session_count(const Ctl& ctl) {
  return ctl.json({"session", "list", "--count"})["count"];
}

TEST(Front, ABenchmarkThatASignalEndsLeavesNoSessions) {
  DevNode node;
  const Ctl ctl = node.ctl();
  const std::vector<std::vector<std::string>> benchmarks = {
      {"bench", "lock", "--clients", "4", "--seconds", "1h", "--ttl", "1h"},
      {"bench", "lock", "--clients", "4", "--seconds", "1h", "--ttl", "1h", "--names", "shared"},
      {"bench", "queue", "--waiters", "20000", "--handovers", "20000"}};
  for (const std::vector<std::string>& words : benchmarks) {
    ChildProcess bench = ctl.start(words);
    while (session_count(ctl) < 4) {
    }
    bench.signal(SIGINT);
    EXPECT_EQ(bench.wait_for(kPatience), 128 + SIGINT) << words[1];
    EXPECT_EQ(session_count(ctl), 0) << words[1];
  }
}

}  // namespace
}  // namespace gcoord::cli
