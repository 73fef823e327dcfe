// gcoordctl lock run: the command's environment, exit codes, signals, and what a lost lock does.
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class LockRunTest : public testing::Test {
 protected:
  std::vector<std::string> shell(const std::string& script,
                                 const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"lock", "run", "a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return arguments;
  }

  DevNode node_;
  Ctl ctl_ = node_.ctl();
};

TEST_F(LockRunTest, TheCommandKnowsItsLock) {
  const Finished finished =
      ctl_(shell("echo $GCOORD_LOCK_NAME $GCOORD_LOCK_TOKEN $GCOORD_SESSION"));
  EXPECT_EQ(finished.code, 0);
  std::istringstream words(finished.out);
  std::string name;
  std::string token;
  std::string session;
  words >> name >> token >> session;
  EXPECT_EQ(name, "a");
  EXPECT_EQ(token, "1");
  EXPECT_FALSE(session.empty());
}

TEST_F(LockRunTest, TheExitCodeIsTheCommands) {
  EXPECT_EQ(ctl_(shell("exit 37")).code, 37);
  EXPECT_EQ(ctl_(shell("kill -KILL $$")).code, 128 + SIGKILL);
}

TEST_F(LockRunTest, AMissingCommandIsSaid) {
  const Finished finished = ctl_({"lock", "run", "a", "--", "/no/such/program"});
  EXPECT_NE(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("/no/such/program"));
}

TEST_F(LockRunTest, TheLockIsHeldWhileTheCommandRunsAndFreeAfterIt) {
  ChildProcess holder = ctl_.start(shell("echo go; exec sleep 600", {"--ttl", "1s"}));
  ASSERT_EQ(holder.read_line(kPatience), "go");
  // Longer than the TTL: the session is kept alive.
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "1500ms"}).code, 6);
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait_for(kPatience), 128 + SIGTERM);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

TEST_F(LockRunTest, AKilledWrapperKillsItsCommand) {
  ChildProcess holder = ctl_.start(shell("echo $$; exec sleep 600", {"--ttl", "60s"}));
  ASSERT_TRUE(holder.read_line(kPatience).has_value());
  holder.kill_now();
  // The pipe closes when the command, its last writer, is gone.
  EXPECT_EQ(holder.read_all(kPatience), "");
}

TEST_F(LockRunTest, TryAndWaitGiveUpWithConflict) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_(shell("true", {"--try"})).code, 6);
  EXPECT_EQ(ctl_(shell("true", {"--wait", "200ms"})).code, 6);
}

TEST_F(LockRunTest, InterruptWhileWaitingLeavesTheQueue) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start(shell("echo never"));
  while (ctl_.json({"lock", "get", "a"})["waiter_count"] == 0) {
  }
  waiter.signal(SIGINT);
  EXPECT_EQ(waiter.wait_for(kPatience), 128 + SIGINT);
  EXPECT_EQ(waiter.read_all(kPatience), "");
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
}

TEST_F(LockRunTest, ACommandThatIgnoresSignalsIsKilledWhenTheNodeIsGone) {
  ChildProcess holder = ctl_.start(shell(
      "trap 'echo told' TERM; echo go; while true; do sleep 600 & wait $!; done", {"--ttl", "1s"}));
  ASSERT_EQ(holder.read_line(kPatience), "go");
  node_.child().kill_now();
  EXPECT_EQ(holder.read_line(kPatience), "told");
  EXPECT_EQ(holder.wait_for(kPatience), 6);
}

}  // namespace
}  // namespace gcoord::cli
