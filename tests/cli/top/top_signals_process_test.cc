// The ends and stops of gcoordctl top: by signals, in a terminal that takes no bytes, in the
// background, and while no node answers.
#include "protocol/request.h"
#include "tests/cli/programs.h"
#include "tests/cli/top/top_terminal.h"
#include "tests/client/fake_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr winsize kUsual{.ws_row = 24, .ws_col = 80};

// The status of waitpid of a program that this signal has ended.
bool killed_by(int status, int signal) {
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

bool exited_well(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Has large screens drawn until the terminal takes no more of them.
bool fills_up_by_resizing(TopTerminal& terminal) {
  unsigned short rows = 1000;
  return terminal.fills_up([&] {
    rows = rows == 1000 ? 1001 : 1000;
    terminal.resize({.ws_row = rows, .ws_col = 80});
  });
}

// Takes connections and never says anything.
class SilentEndpoint {
 public:
  SilentEndpoint() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }

  ~SilentEndpoint() {
    ::close(peer_);
    ::close(listener_);
  }

  SilentEndpoint(const SilentEndpoint&) = delete;
  SilentEndpoint& operator=(const SilentEndpoint&) = delete;

  const std::string& endpoint() const { return endpoint_; }

  // Waits until somebody has connected and asked something.
  testing::AssertionResult is_asked() {
    peer_ = becomes_readable(listener_) ? ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    return peer_ >= 0 && becomes_readable(peer_)
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << "nobody asks " << endpoint_;
  }

 private:
  static bool becomes_readable(int fd) {
    pollfd polled{fd, POLLIN, 0};
    return ::poll(&polled, 1, static_cast<int>(kPatience.count())) > 0;
  }

  int listener_ = -1;
  int peer_ = -1;
  std::string endpoint_;
};

// A pipe with room for a page, of which nobody reads. A full pipe stays full, while a terminal may
// find room once more when the kernel moves what it has.
class UnreadPipe {
 public:
  UnreadPipe() {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    reader_ = ::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(::fcntl(reader_, F_SETPIPE_SZ, 1), 0);
  }

  ~UnreadPipe() { ::close(reader_); }

  UnreadPipe(const UnreadPipe&) = delete;
  UnreadPipe& operator=(const UnreadPipe&) = delete;

  std::string path() const { return (directory_.path() / "pipe").string(); }

 private:
  const ScratchFolder directory_;
  int reader_ = -1;
};

// Whether the kernel says in which call a thread sleeps: not everywhere, and not to everybody.
bool names_system_calls() {
  std::ifstream file("/proc/self/syscall");
  std::string word;
  return static_cast<bool>(file >> word);
}

// Waits until the main thread of a program sleeps in a write to its stdout. The kernel names the
// system call of a thread that sleeps, and of no other.
testing::AssertionResult blocks_in_a_write(pid_t pid) {
  const auto latest = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < latest) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/syscall");
    long number = -1;
    std::string first_argument;
    file >> number >> first_argument;
    if ((number == SYS_write || number == SYS_writev) && first_argument == "0x1") {
      return testing::AssertionSuccess();
    }
    ::poll(nullptr, 0, 5);
  }
  return testing::AssertionFailure() << "it never blocks";
}

// With a time limit that no test waits for.
std::vector<std::string> top_of(const std::string& endpoint) {
  return Ctl{endpoint}.with_endpoints({"--timeout", "1h", "top", "--interval", "100ms"});
}

class TopSignals : public testing::Test {
 protected:
  const DevNode node_{{"--listen-metrics", "127.0.0.1:0"}};
};

TEST_F(TopSignals, CtrlZInAnOrphanedGroupDoesNotFreezeIt) {
  TopTerminal terminal(top_of(node_.endpoint()), kUsual, Shell::Starts::Orphan);
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.takes_the_screen_again());
  terminal.type("?");
  ASSERT_TRUE(terminal.shows("Any key leaves this page."));
  terminal.type("xq");
  EXPECT_TRUE(exited_well(terminal.wait_for_change()));
  EXPECT_TRUE(terminal.cooked());
  EXPECT_TRUE(terminal.takes_the_screen(false));
}

// As `kill %1` does to a stopped job, whose terminal is the shell's then.
TEST_F(TopSignals, AStoppedOneEndsInTheBackground) {
  TopTerminal terminal(top_of(node_.endpoint()), kUsual);
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  terminal.type("\x1a");
  ASSERT_TRUE(WIFSTOPPED(terminal.wait_for_change()));
  terminal.signal(SIGTERM);
  terminal.signal(SIGCONT);
  EXPECT_TRUE(exited_well(terminal.wait_for_change()));
  EXPECT_TRUE(terminal.cooked());
}

TEST_F(TopSignals, InTheBackgroundItLeavesTheTerminalAlone) {
  TopTerminal terminal(top_of(node_.endpoint()), kUsual);
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  terminal.type("\x1a");
  ASSERT_TRUE(WIFSTOPPED(terminal.wait_for_change()));
  ASSERT_TRUE(terminal.takes_the_screen(false));
  terminal.signal(SIGCONT);  // As `bg` does.
  terminal.foreground();
  ASSERT_TRUE(terminal.takes_the_screen(true));
  terminal.type("?");
  ASSERT_TRUE(terminal.shows("Any key leaves this page."));
  terminal.type("xq");
  EXPECT_TRUE(exited_well(terminal.wait_for_change()));
}

TEST_F(TopSignals, ASignalEndsItWhileItsTerminalTakesNoBytes) {
  TopTerminal terminal(top_of(node_.endpoint()), kUsual);
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  ASSERT_TRUE(fills_up_by_resizing(terminal));
  terminal.signal(SIGTERM);
  EXPECT_TRUE(exited_well(terminal.wait_for_change()));
  EXPECT_TRUE(terminal.cooked());
  EXPECT_TRUE(terminal.takes_the_screen(false)) << "although there was no room";
}

TEST_F(TopSignals, ATerminalThatTakesBytesAgainShowsTheScreenAsItIsThen) {
  TopTerminal terminal(top_of(node_.endpoint()), kUsual);
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  ASSERT_TRUE(fills_up_by_resizing(terminal));
  terminal.resize({.ws_row = 10, .ws_col = 40});
  ASSERT_TRUE(terminal.fits(40, 10));
  ASSERT_TRUE(terminal.shows("1 of 1 nodes answer"));
  terminal.type("q");
  EXPECT_TRUE(exited_well(terminal.wait_for_change()));
}

TEST_F(TopSignals, ASignalEndsItWhileNobodyReadsWhatItPrints) {
  if (!names_system_calls()) {
    GTEST_SKIP() << "skipped: /proc/PID/syscall cannot be read here";
  }
  const UnreadPipe pipe;
  std::vector<std::string> words = top_of(node_.endpoint());
  words.insert(words.begin(), {"-o", "json"});
  ChildOptions options = program("gcoordctl", words);
  options.capture_output = false;
  options.output_file = pipe.path();
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  ASSERT_TRUE(blocks_in_a_write(child.value().pid()));
  child.value().signal(SIGTERM);
  EXPECT_EQ(child.value().wait_for(kPatience), 128 + SIGTERM);
}

TEST(TopConnects, ASignalEndsItWhileNoNodeAnswers) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SilentEndpoint silent;
    TopTerminal terminal(top_of(silent.endpoint()), kUsual);
    ASSERT_TRUE(silent.is_asked());
    terminal.signal(signal);
    EXPECT_TRUE(killed_by(terminal.wait_for_change(), signal)) << signal;
  }
  SilentEndpoint silent;
  auto child = ChildProcess::start(program("gcoordctl", top_of(silent.endpoint())));
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  ASSERT_TRUE(silent.is_asked());
  child.value().signal(SIGTERM);
  EXPECT_EQ(child.value().wait_for(kPatience), 128 + SIGTERM);
}

TEST(TopConnects, CtrlZStopsItMeanwhile) {
  SilentEndpoint silent;
  TopTerminal terminal(top_of(silent.endpoint()), kUsual);
  ASSERT_TRUE(silent.is_asked());
  terminal.type("\x1a");
  ASSERT_TRUE(WIFSTOPPED(terminal.wait_for_change()));
  terminal.signal(SIGINT);  // Which waits until it goes on.
  terminal.foreground();
  EXPECT_TRUE(killed_by(terminal.wait_for_change(), SIGINT));
}

TEST(TopConnects, ASignalEndsItWhileNoNodeBeginsToTellChanges) {
  client::FakeCluster cluster{1};  // Welcomes, and answers nothing else.
  TopTerminal terminal(top_of(cluster.endpoints().front()), kUsual);
  ASSERT_FALSE(cluster.wait_for(protocol::RequestKind::WatchOpen, 1).empty());
  terminal.type("\x03");
  EXPECT_TRUE(killed_by(terminal.wait_for_change(), SIGINT));
}

}  // namespace
}  // namespace gcoord::cli
