// A thread that stops alone: one of a small process, with the process killed meanwhile.
#include "chaos/process/thread_stop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace gcoord::chaos {
namespace {

// A child of two threads, each of which sends back what it is sent.
class ThreadStopTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!thread_stop_obstacle().empty()) {
      GTEST_SKIP() << thread_stop_obstacle();
    }
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, first_), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, second_), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      std::thread second([this] {
        ::pthread_setname_np(::pthread_self(), "second");
        send_back(second_[1]);
      });
      send_back(first_[1]);
    }
    // Both run, and the second has its name.
    ASSERT_TRUE(answers(first_[0]));
    ASSERT_TRUE(answers(second_[0]));
  }

  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    for (const int fd : {first_[0], first_[1], second_[0], second_[1]}) {
      ::close(fd);
    }
  }

  [[noreturn]] static void send_back(int fd) {
    for (char byte = 0; ::read(fd, &byte, 1) == 1;) {
      if (::write(fd, &byte, 1) != 1) {
        break;
      }
    }
    for (;;) {
      ::pause();
    }
  }

  static void send(int fd) { EXPECT_EQ(::write(fd, "x", 1), 1); }

  // Whether an answer is there, or comes within the time.
  static bool answered(int fd, int timeout_ms) {
    pollfd wanted{fd, POLLIN, 0};
    char byte = 0;
    return ::poll(&wanted, 1, timeout_ms) == 1 && ::read(fd, &byte, 1) == 1;
  }

  static bool answers(int fd) {
    constexpr int kPatienceMs = 60'000;
    send(fd);
    return answered(fd, kPatienceMs);
  }

  ThreadStop stop_second() {
    const auto threads = threads_named(child_, "sec");
    EXPECT_EQ(threads.size(), 1u);
    auto stop = ThreadStop::begin(threads.at(0));
    EXPECT_TRUE(stop.ok()) << stop.status().to_string();
    return std::move(stop).value();
  }

  // Kills the child, and waits for the end of the thread as for that of the process.
  static bool reaped(pid_t child, int options) {
    int status = 0;
    return ::waitpid(child, &status, options) == child && WIFSIGNALED(status);
  }

  pid_t child_ = -1;
  int first_[2] = {-1, -1};
  int second_[2] = {-1, -1};
};

TEST_F(ThreadStopTest, OneStandsStillAndTheOtherGoesOn) {
  {
    ThreadStop stop = stop_second();
    send(second_[0]);
    EXPECT_TRUE(answers(first_[0]));
    EXPECT_FALSE(answered(second_[0], 0));
    EXPECT_FALSE(stop.ended());
  }
  EXPECT_TRUE(answered(second_[0], 60'000)) << "it goes on where it stopped";
  ThreadStop again = stop_second();
  again.end();
  EXPECT_TRUE(answers(second_[0]));
}

TEST_F(ThreadStopTest, ASignalThatComesMeanwhileIsNotLost) {
  ThreadStop stop = stop_second();
  ::kill(child_, SIGTERM);
  int status = 0;
  while (!stop.ended()) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::waitpid(child_, &status, 0), child_);
  child_ = -1;
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(ThreadStopTest, AProcessThatIsKilledMeanwhileCanBeReaped) {
  {
    ThreadStop stop = stop_second();
    ::kill(child_, SIGKILL);
    EXPECT_FALSE(reaped(child_, WNOHANG)) << "its thread's tracer was not told yet";
  }
  EXPECT_TRUE(reaped(child_, 0));
  child_ = -1;
}

TEST_F(ThreadStopTest, AThreadThatIsGoneIsNotFound) {
  EXPECT_TRUE(threads_named(child_, "third").empty());
  const pid_t second = threads_named(child_, "second").at(0);
  ::kill(child_, SIGKILL);
  ASSERT_TRUE(reaped(child_, 0));
  child_ = -1;
  EXPECT_EQ(ThreadStop::begin(second).status().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace gcoord::chaos
