// gcoordctl lock run: the command's environment, exit codes, signals, and what a lost lock does.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class LockRunNodesTest : public testing::Test {
 protected:
  explicit LockRunNodesTest(const std::string& turn = "host") : node_(turn) {}

  std::vector<std::string> shell(const std::string& script,
                                 const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"lock", "run", "a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return arguments;
  }

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class LockRunTest : public AtBothTurns<LockRunNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, LockRunTest, both_turns(), turn_name);

TEST_P(LockRunTest, L17TheCommandKnowsItsLock) {
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

// gcoordctl in the command is about other sessions: the variables of `lock run` say nothing to it.
TEST_P(LockRunTest, L17GcoordctlWorksInsideTheCommand) {
  const std::string ctl = chaos::program_beside("gcoordctl").string() + " -o json";
  const auto inside = [&](const std::string& script) {
    return ctl_(shell("export GCOORD_ENDPOINTS=" + node_.endpoint() + "; " + script));
  };
  EXPECT_EQ(inside("echo $GCOORD_LOCK_SESSION $GCOORD_SESSION | { read a b; test $a = $b; }").code,
            0);
  EXPECT_EQ(inside(ctl + " elect transfer chief --to 7").error_code(), "GC6101");
  const Finished acquired = inside(ctl + " lock acquire b");
  EXPECT_EQ(acquired.code, 0) << acquired.out << acquired.err;
  ASSERT_EQ(inside("GCOORD_ID=1 GCOORD_NODE=1 GCOORD_TO=1 GCOORD_COUNT=1 GCOORD_TOKEN=1 " + ctl +
                   " lock acquire c")
                .code,
            0);
  EXPECT_EQ(inside("GCOORD_TOKEN=1 " + ctl + " lock check a").error_code(), "GC1002");
}

TEST_F(LockRunNodesTest, TheCommandIsPassedOnByteForByte) {
  const Finished finished = ctl_(
      {"lock", "run", "a", "--", "printf", "%s|", "[x,y]", "a,b", "-o", "json", "--", "--ttl"});
  EXPECT_EQ(finished.out, "[x,y]|a,b|-o|json|--|--ttl|");
  EXPECT_EQ(ctl_(shell("[ -e / ] && [ ! -e /no/such/file ]")).code, 0);
  const Finished none = ctl_({"-o", "json", "lock", "run", "a"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.error_code(), "GC1002");
}

TEST_P(LockRunTest, L17TheExitCodeIsTheCommands) {
  EXPECT_EQ(ctl_(shell("exit 37")).code, 37);
  EXPECT_EQ(ctl_(shell("kill -KILL $$")).code, 128 + SIGKILL);
}

TEST_P(LockRunTest, L17AMissingCommandIs127WithANumberAndTheLockIsFreeAgain) {
  for (const std::string missing : {"/no/such/program", "no-such-program-in-the-path"}) {
    const Finished finished = ctl_({"lock", "run", "a", "--ttl", "1h", "--", missing});
    EXPECT_EQ(finished.code, 127);
    EXPECT_THAT(finished.err, AllOf(HasSubstr(missing), HasSubstr("GC1007")));
  }
  EXPECT_EQ(ctl_.json({"lock", "run", "a", "--", "/no/such/program"}, 127)["error"]["code"],
            "GC1007");
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

TEST_P(LockRunTest, L17ACommandThatCannotBeExecutedIs126WithANumberAndTheLockIsFreeAgain) {
  const ScratchFolder folder;
  const std::string plain = (folder.path() / "plain").string();
  std::ofstream(plain) << "no program\n";
  for (const std::string& unusable : {plain, folder.path().string()}) {
    const auto error = ctl_.json({"lock", "run", "a", "--ttl", "1h", "--", unusable}, 126)["error"];
    EXPECT_EQ(error["code"], "GC1007");
    EXPECT_THAT(error["message"], HasSubstr(unusable));
  }
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

TEST_F(LockRunNodesTest, TheLockIsHeldWhileTheCommandRunsAndFreeAfterIt) {
  ChildProcess holder = ctl_.start(shell("echo go; exec sleep 600", {"--ttl", "1s"}));
  ASSERT_EQ(holder.read_line(kPatience), "go");
  // Longer than the TTL: the session is kept alive.
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--wait", "1500ms"}).code, 6);
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait_for(kPatience), 128 + SIGTERM);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

TEST_P(LockRunTest, L17CommandsMayShareALock) {
  ChildProcess one = ctl_.start(shell("echo go; exec sleep 600", {"--shared"}));
  ASSERT_EQ(one.read_line(kPatience), "go");
  EXPECT_EQ(ctl_(shell("exit 3", {"--shared", "--try"})).code, 3);
  EXPECT_EQ(ctl_(shell("exit 3", {"--try"})).code, 6);
  one.signal(SIGTERM);
  EXPECT_EQ(one.wait_for(kPatience), 128 + SIGTERM);
}

// An instance of a service is a name under the service's, its address the note.
TEST_P(LockRunTest, Row71InstancesOfAServiceAreFoundUntilTheirLeaseEnds) {
  ChildProcess instance = ctl_.start({"lock",
                                      "run",
                                      "services/api/1",
                                      "--ttl",
                                      "5s",
                                      "--note",
                                      "10.0.0.1:443",
                                      "--",
                                      "sh",
                                      "-c",
                                      "echo go; exec sleep 600"});
  ASSERT_EQ(instance.read_line(kPatience), "go");
  const auto found = ctl_.json({"lock", "list", "services/api/"})["locks"];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["name"], "services/api/1");
  EXPECT_EQ(ctl_.json({"lock", "get", "services/api/1"})["note"], "10.0.0.1:443");
  instance.kill_now();
  EXPECT_EQ(ctl_({"lock", "acquire", "services/api/1", "--wait", "60s"}).code, 0);
}

TEST_F(LockRunNodesTest, AKilledWrapperKillsItsCommand) {
  ChildProcess holder = ctl_.start(shell("echo $$; exec sleep 600", {"--ttl", "60s"}));
  ASSERT_TRUE(holder.read_line(kPatience).has_value());
  holder.kill_now();
  // The pipe closes when the command, its last writer, is gone.
  EXPECT_EQ(holder.read_all(kPatience), "");
}

TEST_F(LockRunNodesTest, TryAndWaitGiveUpWithConflict) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_(shell("true", {"--try"})).code, 6);
  EXPECT_EQ(ctl_(shell("true", {"--wait", "200ms"})).code, 6);
}

TEST_P(LockRunTest, L17InterruptWhileWaitingLeavesTheQueue) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start(shell("echo never"));
  while (ctl_.json({"lock", "get", "a"})["waiter_count"] == 0) {
  }
  waiter.signal(SIGINT);
  EXPECT_EQ(waiter.wait_for(kPatience), 128 + SIGINT);
  EXPECT_EQ(waiter.read_all(kPatience), "");
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
}

TEST_P(LockRunTest, L17ACommandThatIgnoresSignalsIsKilledWhenTheNodeIsGone) {
  ChildProcess holder = ctl_.start(shell(
      "trap 'echo told' TERM; echo go; while true; do sleep 600 & wait $!; done", {"--ttl", "1s"}));
  ASSERT_EQ(holder.read_line(kPatience), "go");
  node_.kill();
  EXPECT_EQ(holder.read_line(kPatience), "told");
  EXPECT_EQ(holder.wait_for(kPatience), 6);
}

TEST_F(LockRunNodesTest, HangUpAndQuitReachTheCommandToo) {
  for (const int signal : {SIGHUP, SIGQUIT}) {
    ChildProcess holder = ctl_.start(shell("echo go; exec sleep 600"));
    ASSERT_EQ(holder.read_line(kPatience), "go");
    holder.signal(signal);
    EXPECT_EQ(holder.wait_for(kPatience), 128 + signal);
  }
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

// The node stands still until the command is told to stop, and then answers again.
TEST_F(LockRunNodesTest, ALockThatWasOnlyInDangerWasNotLost) {
  const std::string go_on = "kill -CONT " + std::to_string(node_.alone().child().pid());
  ChildProcess holder = ctl_.start(
      shell("trap '" + go_on +
                "; sleep 1; exit 7' TERM; echo go; while true; do sleep 600 & wait $!; done",
            {"--ttl", "9s"}));
  ASSERT_EQ(holder.read_line(kPatience), "go");
  node_.alone().child().signal(SIGSTOP);
  EXPECT_EQ(holder.wait_for(kPatience), 7);
}

// gcoordctl as the first program of a terminal.
class TerminalProgram {
 public:
  explicit TerminalProgram(const std::vector<std::string>& arguments) {
    const std::string path = chaos::program_beside("gcoordctl").string();
    std::vector<char*> words{const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) {
      words.push_back(const_cast<char*>(argument.c_str()));
    }
    words.push_back(nullptr);
    pid_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::execv(path.c_str(), words.data());
      ::_exit(127);
    }
  }

  ~TerminalProgram() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(master_);
  }

  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  void type(const std::string& text) const {
    EXPECT_EQ(::write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Whether the text was shown before the terminal closed; a hang ends with the test's own limit.
  bool shows(const std::string& text) {
    char bytes[512];
    while (shown_.find(text) == std::string::npos) {
      const ssize_t count = ::read(master_, bytes, sizeof(bytes));
      if (count <= 0) {
        return false;
      }
      shown_.append(bytes, static_cast<std::size_t>(count));
    }
    return true;
  }

  void signal(int number) const { ::kill(pid_, number); }

  // The status of waitpid when it ends or is stopped.
  int wait_for_change() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    pid_ = WIFSTOPPED(status) ? pid_ : -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int master_ = -1;
  std::string shown_;
};

TEST_F(LockRunNodesTest, OnATerminalTheCommandReadsStopsAndGoesOn) {
  TerminalProgram program(
      ctl_.with_endpoints(shell("read a; echo got $a; read b; echo got $b; exit 7")));
  program.type("first\n");
  ASSERT_TRUE(program.shows("got first"));
  program.type("\x1a");  // Ctrl-Z.
  ASSERT_TRUE(WIFSTOPPED(program.wait_for_change())) << "a shell would have its terminal back";
  program.signal(SIGCONT);
  program.type("second\n");
  ASSERT_TRUE(program.shows("got second"));
  const int status = program.wait_for_change();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace gcoord::cli
