// S11 on the command line: sessions, locks and offices that end when a health check fails.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class SessionChecksNodesTest : public testing::Test {
 protected:
  explicit SessionChecksNodesTest(const std::string& turn = "host") : node_(turn) {}

  // --check and its times: fails when the file is gone.
  std::vector<std::string> checked(std::vector<std::string> words) const {
    const std::vector<std::string> flags = {"--check",
                                            "command:test -e '" + flag_.string() + "'",
                                            "--check-interval",
                                            "100ms",
                                            "--check-failures",
                                            "2"};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

  void fail() const { std::filesystem::remove(flag_); }

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
  const ScratchFolder folder_;
  std::filesystem::path flag_ = [this] {
    std::ofstream{folder_.path() / "healthy"} << "yes";
    return folder_.path() / "healthy";
  }();
};

class SessionChecksTest : public AtBothTurns<SessionChecksNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, SessionChecksTest, both_turns(), turn_name);

TEST_P(SessionChecksTest, S11WhatIsNoCheckIsRefusedAndAFailingOneOpensNothing) {
  for (const char* text : {"ping", "tcp:here", "https://localhost/", "command:"}) {
    EXPECT_EQ(ctl_.json({"session", "open", "--check", text}, 2)["error"]["code"], "GC6352")
        << text;
  }
  EXPECT_EQ(ctl_.json({"session", "open", "--check", "tcp:localhost:80", "--check-interval", "1ms"},
                      2)["error"]["code"],
            "GC6352");
  const auto error = ctl_.json({"session", "open", "--check", "command:exit 9"}, 1)["error"];
  EXPECT_EQ(error["code"], "GC6350");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("exit code 9"));
  EXPECT_EQ(ctl_.json({"session", "list", "--count"})["count"], 0);
}

TEST_P(SessionChecksTest, S11ASessionLivesAsLongAsItsCheckPasses) {
  ChildProcess keeper = ctl_.start(checked({"-o",
                                            "json",
                                            "session",
                                            "open",
                                            "--id",
                                            "7",
                                            "--ttl",
                                            "600ms",
                                            "--check",
                                            "tcp:" + node_.endpoint()}));
  const auto opened = keeper.read_line(kPatience);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(nlohmann::json::parse(*opened)["session"], "7");
  // Longer than its TTL: somebody else waits for so long.
  ctl_.json({"lock", "acquire", "a", "--session", "7", "--ttl", "600ms"});
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "1s"}).code, 6);
  fail();
  EXPECT_EQ(keeper.wait_for(kPatience), 1);
  const auto said = nlohmann::json::parse(keeper.read_line(kPatience).value_or("{}"));
  EXPECT_EQ(said["error"]["code"], "GC6351");
  // Nobody closed it; it ran out.
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "60s"}).code, 0);
}

TEST_P(SessionChecksTest, S11ASignalClosesIt) {
  ChildProcess keeper = ctl_.start(checked({"session", "open", "--id", "7", "--ttl", "60s"}));
  ASSERT_TRUE(keeper.read_line(kPatience).has_value());
  ctl_.json({"lock", "acquire", "a", "--session", "7", "--ttl", "60s"});
  keeper.signal(SIGTERM);
  EXPECT_EQ(keeper.wait_for(kPatience), 0);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "30s"}).code, 0);
}

TEST_P(SessionChecksTest, S11AClosedSessionPassesItsLocksOnAtOnce) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "600s"});
  ctl_.json({"lock", "acquire", "a", "--session", "7", "--ttl", "600s", "--lock-delay", "60s"});
  ChildProcess keeper = ctl_.start(checked({"session", "keep-alive", "7", "--check-close"}));
  ASSERT_TRUE(keeper.read_line(kPatience).has_value());
  fail();
  EXPECT_EQ(keeper.wait_for(kPatience), 1);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "30s"}).code, 0);
}

TEST_P(SessionChecksTest, S11ACommandUnderALockIsStoppedWhenTheCheckFails) {
  auto words = checked({"lock", "run", "a", "--ttl", "1s"});
  words.insert(
      words.end(),
      {"--", "sh", "-c", "trap 'echo told; exit 0' TERM; echo go; while :; do sleep 0.05; done"});
  ChildProcess holder = ctl_.start(words);
  ASSERT_EQ(holder.read_line(kPatience), "go");
  fail();
  EXPECT_EQ(holder.read_line(kPatience), "told");
  EXPECT_EQ(holder.wait_for(kPatience), 6);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "60s"}).code, 0);
}

TEST_P(SessionChecksTest, S11ALeaderWhoseCheckFailsLeadsNoMore) {
  ChildProcess leader =
      ctl_.start(checked({"-o", "json", "elect", "campaign", "chief", "--ttl", "1s"}));
  ASSERT_TRUE(leader.read_line(kPatience).has_value());
  ChildProcess next =
      ctl_.start({"-o", "json", "elect", "campaign", "chief", "--ttl", "60s", "--once"});
  fail();
  EXPECT_EQ(leader.wait_for(kPatience), 6);
  EXPECT_EQ(next.wait_for(kPatience), 0);
  EXPECT_EQ(ctl_.json({"elect", "campaign", "x", "--once", "--check", "command:true"},
                      2)["error"]["code"],
            "GC1001");
}

}  // namespace
}  // namespace gcoord::cli
