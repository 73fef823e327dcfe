#include "common/host/child_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace gcoord {
namespace {

using std::chrono::milliseconds;

// Not a measure, only an end.
constexpr milliseconds kPatience{60'000};

ChildProcess start(const std::string& line, bool confirm = true) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", line};
  options.group = true;
  options.confirm = confirm;
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok());
  return std::move(child).value();
}

TEST(ChildProcess, TellsTheExitStatusAsAShellDoes) {
  EXPECT_EQ(start("exit 3").wait(), 3);
  EXPECT_EQ(start("exit 0").wait_for(kPatience), 0);
  EXPECT_EQ(start("kill -TERM $$").wait(), 128 + SIGTERM);
  ChildProcess running = start("exec sleep 1000");
  EXPECT_FALSE(running.wait_for(milliseconds{0}).has_value());
  running.kill_now();
  EXPECT_EQ(running.wait(), 128 + SIGKILL);
}

TEST(ChildProcess, AStatusThatNobodyKeepsIsAFailure) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  ChildProcess waited = start("exit 0");
  EXPECT_EQ(waited.wait(), ChildProcess::kStatusTaken);
  EXPECT_TRUE(waited.status_taken());
  ChildProcess looked_at = start("exit 0");
  EXPECT_EQ(looked_at.wait_for(kPatience), ChildProcess::kStatusTaken);
  EXPECT_FALSE(looked_at.running());
  ::signal(SIGCHLD, before);
}

// The background process keeps the number of the group from being anybody else's, and lives on.
TEST(ChildProcess, WhatSomebodyElseReapedIsNotSignalled) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "sleep 1000 >/dev/null & echo $!"};
  options.capture_output = true;
  options.group = true;
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  const auto line = child.value().read_line(kPatience);
  ASSERT_TRUE(line.has_value());
  const pid_t left = std::stoi(*line);
  ASSERT_EQ(::waitpid(child.value().pid(), nullptr, 0), child.value().pid());
  child.value().signal(SIGKILL);
  EXPECT_FALSE(child.value().running());
  EXPECT_EQ(child.value().wait(), ChildProcess::kStatusTaken);
  EXPECT_EQ(::kill(left, SIGTERM), 0);
}

TEST(ChildProcess, MayBeKilledBeforeItHasBegun) {
  ChildProcess child = start("exec sleep 1000", false);
  child.kill_within(kPatience);
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
}

TEST(ChildProcess, AProgramThatIsNotThereIsNotFoundOrEndsLikeIt) {
  ChildOptions options;
  options.arguments = {"/nowhere/to/be/found"};
  EXPECT_EQ(ChildProcess::start(options).status().code(), StatusCode::NotFound);
  options.confirm = false;
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().wait(), 127);
  EXPECT_FALSE(child.value().status_taken());
}

TEST(ChildProcess, ReadsItsInputFile) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "! read line"};
  options.input_file = "/dev/null";
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().wait(), 0);
}

}  // namespace
}  // namespace gcoord
