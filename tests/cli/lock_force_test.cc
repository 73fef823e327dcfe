// gcoordctl lock break, --lock-delay and several locks at once, against `gcoordd dev`.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class LockForceNodesTest : public testing::Test {
 protected:
  explicit LockForceNodesTest(const std::string& turn = "host") : node_(turn) {}

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class LockForceCtlTest : public AtBothTurns<LockForceNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, LockForceCtlTest, both_turns(), turn_name);

TEST_P(LockForceCtlTest, L15ABrokenLockGoesToTheNextWaiterAndItsHolderIsToldWithANumberOfItsOwn) {
  const auto held = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start({"-o", "json", "lock", "acquire", "a", "--ttl", "60s"});
  while (ctl_.json({"lock", "get", "a"})["waiter_count"] == 0) {
  }
  const auto broken = ctl_.json({"lock", "break", "a", "--reason", "it hangs", "--as", "ann@ops"});
  EXPECT_EQ(broken["token"], held["token"]);
  EXPECT_EQ(broken["session"], held["session"]);
  EXPECT_EQ(broken["by"], "ann@ops");
  EXPECT_EQ(waiter.wait_for(kPatience), 0);
  const auto next = nlohmann::json::parse(waiter.read_all(kPatience), nullptr, false);
  EXPECT_GT(std::stoull(next["token"].get<std::string>()),
            std::stoull(held["token"].get<std::string>()));
  const auto check = ctl_.json({"lock", "check", "a", "--token", held["token"]}, 1)["error"];
  EXPECT_EQ(check["code"], "GC6030");
  const auto release = ctl_.json(
      {"lock", "release", "a", "--token", held["token"], "--session", held["session"]}, 1)["error"];
  EXPECT_EQ(release["code"], "GC6030");
  ctl_.json({"lock", "check", "a", "--token", next["token"]});
}

TEST_P(LockForceCtlTest, L15ABreakNeedsAReasonAndMeansOnlyTheTokenThatItNames) {
  const auto held = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_.json({"lock", "break", "a"}, 2)["error"]["code"], "GC1002");
  EXPECT_EQ(ctl_.json({"lock", "break", "a", "--reason", ""}, 2)["error"]["code"], "GC6034");
  EXPECT_EQ(
      ctl_.json({"lock", "break", "a", "--reason", "x", "--token", "999"}, 1)["error"]["code"],
      "GC6003");
  EXPECT_EQ(ctl_.json({"lock", "break", "nobody", "--reason", "x"}, 1)["error"]["code"], "GC6002");
  ctl_.json({"lock", "check", "a", "--token", held["token"]});
  const auto broken = ctl_.json({"lock", "break", "a", "--reason", "x", "--token", held["token"]});
  EXPECT_THAT(broken["by"].get<std::string>(), HasSubstr("@"));
  ctl_.json({"lock", "get", "a"}, 1);
}

TEST_P(LockForceCtlTest, L15TheCommandOfABrokenLockIsStopped) {
  ChildProcess holder =
      ctl_.start({"lock", "run", "a", "--ttl", "1s", "--", "sh", "-c", "echo go; exec sleep 600"});
  ASSERT_EQ(holder.read_line(kPatience), "go");
  ctl_.json({"lock", "break", "a", "--reason", "it hangs"});
  EXPECT_EQ(holder.wait_for(kPatience), 6);
}

TEST_P(LockForceCtlTest, L14AFailedHoldersLockIsNobodysUntilItsDelayIsOver) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "200ms", "--lock-delay", "2s"});
  std::string code;
  do {  // Busy while the session lives.
    code = ctl_({"-o", "json", "lock", "acquire", "a", "--try"}).error_code();
  } while (code == "GC6001");
  EXPECT_EQ(code, "GC6031");
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["delayed"], true);
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--wait", "100ms"}, 6)["error"]["code"], "GC6005");
  ctl_.json({"lock", "acquire", "a", "--wait", "50s"});
  EXPECT_EQ(ctl_.json({"lock", "acquire", "b", "--lock-delay", "61s"}, 2)["error"]["code"],
            "GC6032");
}

TEST_P(LockForceCtlTest, L14AReleasePassesTheLockOnAtOnce) {
  const auto held = ctl_.json({"lock", "acquire", "a", "--ttl", "60s", "--lock-delay", "60s"});
  ctl_.json({"lock", "release", "a", "--token", held["token"], "--session", held["session"]});
  ctl_.json({"lock", "acquire", "a", "--try"});
}

TEST_P(LockForceCtlTest, L9SeveralLocksAreTakenAllOrNone) {
  const auto held = ctl_.json({"lock", "acquire", "x", "a", "m", "--ttl", "60s"});
  ASSERT_EQ(held["locks"].size(), 3u);
  EXPECT_EQ(held["locks"][0]["name"], "x") << "in the order of the command line";
  for (const auto& lock : held["locks"]) {
    ctl_.json({"lock", "check", lock["name"], "--token", lock["token"]});
  }
  const std::vector<std::string> some = {"lock", "acquire", "b", "m", "c", "--try"};
  EXPECT_EQ(ctl_.json(some, 6)["error"]["code"], "GC6001");
  ctl_.json({"lock", "get", "b"}, 1);
  ctl_.json({"lock", "get", "c"}, 1);
  EXPECT_EQ(ctl_.json({"lock", "acquire", "b", "b"}, 2)["error"]["code"], "GC6035");
}

TEST_P(LockForceCtlTest, L9TwoWhoWantTheSameNamesNeverWaitForEachOther) {
  const auto run = [this](const std::string& first, const std::string& second) {
    return ctl_.start({"lock", "run", "--lock", first, "--lock", second, "--", "true"});
  };
  for (int round = 0; round < 5; ++round) {
    ChildProcess one = run("a", "b");
    ChildProcess other = run("b", "a");
    ASSERT_EQ(one.wait_for(kPatience), 0);
    ASSERT_EQ(other.wait_for(kPatience), 0);
  }
}

TEST_P(LockForceCtlTest, L9TheCommandKnowsTheTokenOfEachName) {
  const Finished finished = ctl_({"lock",
                                  "run",
                                  "a",
                                  "--lock",
                                  "b=c",
                                  "--",
                                  "sh",
                                  "-c",
                                  "echo $GCOORD_LOCK_NAME; echo \"$GCOORD_LOCK_TOKENS\""});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, testing::MatchesRegex("a\na=[0-9]+\nb=c=[0-9]+\n"));
  EXPECT_EQ(ctl_({"-o", "json", "lock", "run", "--", "true"}).error_code(), "GC1002");
}

TEST_P(LockForceCtlTest, L9WhatAKilledHolderHadEndsWithItsSession) {
  ChildProcess holder = ctl_.start({"lock",
                                    "run",
                                    "--lock",
                                    "a",
                                    "--lock",
                                    "b",
                                    "--ttl",
                                    "1s",
                                    "--",
                                    "sh",
                                    "-c",
                                    "echo go; exec sleep 600"});
  ASSERT_EQ(holder.read_line(kPatience), "go");
  holder.kill_now();
  ctl_.json({"lock", "acquire", "b", "a", "--wait", "50s"});
}

}  // namespace
}  // namespace gcoord::cli
