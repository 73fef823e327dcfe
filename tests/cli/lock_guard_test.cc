// gcoordctl lock run: nothing that its command started outlives gcoordctl, or the lock.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

// Whether there is such a process, and it has not ended.
bool lives(const std::string& pid) {
  const std::string stat = file_text("/proc/" + pid + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z';
}

class LockGuardNodesTest : public testing::Test {
 protected:
  explicit LockGuardNodesTest(const std::string& turn = "host") : node_(turn) {}

  // Three that a signal to the command's group does not reach, and the command: each says its
  // process id. They end by themselves long after the test has failed.
  static constexpr const char* kFugitives =
      "setsid sh -c 'echo $$; exec sleep 120' & "
      "(setsid sh -c 'echo $$; exec sleep 120' &) ; "
      "setsid sh -c '(setsid sh -c \"echo \\$\\$; trap : TERM HUP; sleep 120\" &)' ; "
      "echo $$; exec sleep 120";

  ChildProcess start(const std::string& script, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"lock", "run", "a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return ctl_.start(arguments);
  }

  static std::vector<std::string> read_pids(ChildProcess& holder, std::size_t count) {
    std::vector<std::string> pids;
    while (pids.size() < count) {
      const auto line = holder.read_line(kPatience);
      EXPECT_TRUE(line.has_value());
      if (!line.has_value()) {
        break;
      }
      EXPECT_TRUE(lives(*line)) << *line;
      pids.push_back(*line);
    }
    return pids;
  }

  // All of them write to the holder's output, which closes as the last one ends.
  static void expect_ended(ChildProcess& holder, const std::vector<std::string>& pids) {
    const auto deadline = std::chrono::steady_clock::now() + kFailing;
    EXPECT_EQ(holder.read_all(kFailing), "");
    for (const std::string& pid : pids) {
      while (lives(pid) && std::chrono::steady_clock::now() < deadline) {
      }
      EXPECT_FALSE(lives(pid)) << pid;
    }
  }

  // Bounds a failure; what is killed ends within milliseconds.
  static constexpr std::chrono::milliseconds kFailing{30'000};

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class LockGuardTest : public AtBothTurns<LockGuardNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, LockGuardTest, both_turns(), turn_name);

TEST_P(LockGuardTest, L17AKilledWrapperTakesAllThatItsCommandStartedAlong) {
  ChildProcess holder = start(kFugitives, {"--ttl", "60s"});
  const auto pids = read_pids(holder, 4);
  holder.kill_now();
  expect_ended(holder, pids);
}

TEST_P(LockGuardTest, L17AStoppedCommandIsTakenAlongToo) {
  ChildProcess holder =
      start("setsid sh -c 'echo $$; exec sleep 120' & echo $$; kill -STOP $$", {"--ttl", "60s"});
  const auto pids = read_pids(holder, 2);
  holder.kill_now();
  expect_ended(holder, pids);
}

TEST_P(LockGuardTest, L17ALostLockEndsAllThatTheCommandStarted) {
  ChildProcess holder = start(kFugitives, {"--ttl", "1s"});
  const auto pids = read_pids(holder, 4);
  node_.kill();
  expect_ended(holder, pids);
  EXPECT_EQ(holder.wait_for(kPatience), 6);
}

TEST_P(LockGuardTest, L14ABrokenLockEndsAllThatTheCommandStarted) {
  ChildProcess holder = start(kFugitives, {"--ttl", "2s"});
  const auto pids = read_pids(holder, 4);
  ctl_.json({"lock", "break", "a", "--reason", "it hangs"});
  expect_ended(holder, pids);
  EXPECT_EQ(holder.wait_for(kPatience), 6);
}

// The guard is the command's parent. The kernel kills the command then, and gcoordctl the rest.
TEST_P(LockGuardTest, L17AKilledGuardLeavesNothingBehindEither) {
  ChildProcess holder = start(std::string{"echo $PPID; "} + kFugitives, {"--ttl", "60s"});
  const auto pids = read_pids(holder, 5);
  ASSERT_NE(pids[0], std::to_string(holder.pid()));
  ::kill(std::atoi(pids[0].c_str()), SIGKILL);
  expect_ended(holder, pids);
  EXPECT_EQ(holder.wait_for(kPatience), 128 + SIGKILL);
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

// Signals that end programs are for the command, whoever gets them.
TEST_F(LockGuardNodesTest, SignalsDoNotEndTheGuard) {
  ChildProcess holder = start("echo $PPID; exec sleep 120");
  const auto guard = read_pids(holder, 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::kill(std::atoi(guard[0].c_str()), signal);
  }
  EXPECT_TRUE(lives(guard[0]));
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait_for(kPatience), 128 + SIGTERM);
}

// A cgroup of version 2 that is delegated as systemd says it, where one may be made.
class DelegatedCgroup {
 public:
  DelegatedCgroup() {
    for (const std::string root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      const std::string path = root + "/gcoord-test-" + std::to_string(::getpid());
      if (::access((root + "/cgroup.procs").c_str(), W_OK) == 0 &&
          ::mkdir(path.c_str(), 0755) == 0) {
        path_ = path;
        usable_ = ::setxattr(path.c_str(), "user.delegate", "1", 1, 0) == 0 &&
                  ::access((path + "/cgroup.kill").c_str(), W_OK) == 0;
        return;
      }
    }
  }

  // The guard, whose end nobody tells, is in it to the last.
  ~DelegatedCgroup() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!path_.empty() && ::rmdir(path_.c_str()) != 0 && errno == EBUSY &&
           std::chrono::steady_clock::now() < deadline) {
    }
  }

  DelegatedCgroup(const DelegatedCgroup&) = delete;
  DelegatedCgroup& operator=(const DelegatedCgroup&) = delete;

  bool usable() const { return usable_; }

  const std::string& path() const { return path_; }

  bool has_below() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.is_directory()) {
        return true;
      }
    }
    return false;
  }

 private:
  std::string path_;
  bool usable_ = false;
};

TEST_P(LockGuardTest, L17WhereItIsDelegatedTheCommandHasACgroupThatIsKilledWhole) {
  const DelegatedCgroup cgroup;
  if (!cgroup.usable()) {
    GTEST_SKIP() << "no cgroup of version 2 with cgroup.kill can be made here";
  }
  ChildOptions how = program("gcoordctl", {});
  const std::string ctl = how.arguments[0];
  how.arguments = {"/bin/sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", cgroup.path()};
  how.arguments.push_back(ctl);
  for (const std::string& word :
       ctl_.with_endpoints({"lock", "run", "a", "--ttl", "60s", "--", "sh", "-c", kFugitives})) {
    how.arguments.push_back(word);
  }
  auto started = ChildProcess::start(how);
  ASSERT_TRUE(started.ok());
  ChildProcess holder = std::move(started).value();
  const auto pids = read_pids(holder, 4);
  for (const std::string& pid : pids) {
    EXPECT_THAT(file_text("/proc/" + pid + "/cgroup"), HasSubstr("/gcoord-run-"));
  }
  holder.kill_now();
  expect_ended(holder, pids);
  const auto deadline = std::chrono::steady_clock::now() + kFailing;
  while (cgroup.has_below() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_FALSE(cgroup.has_below()) << "the guard removes it as it ends";
}

// A command that ends by itself may leave something running, as it may under a shell.
TEST_F(LockGuardNodesTest, ACommandThatEndsMayLeaveAProcessBehind) {
  const ScratchFolder folder;
  const std::string fifo = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ChildProcess holder = start("setsid sh -c 'read line < " + fifo + "; echo $line' & exit 7");
  EXPECT_EQ(holder.wait_for(kPatience), 7);
  std::ofstream(fifo) << "left\n";
  EXPECT_EQ(holder.read_all(kPatience), "left\n");
}

}  // namespace
}  // namespace gcoord::cli
