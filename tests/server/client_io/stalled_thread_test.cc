// I/O threads that hang in the kernel: who is given to them, and that a node can end. A backend of
// the test hangs until it is let go; clocks are the test's.
#include "server/client_io/io_threads.h"

#include <asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace gcoord::server {
namespace {

struct Stuck {
  void let_go() {
    hangs = false;
    hangs.notify_all();
  }

  std::atomic<bool> hangs{true};
  std::atomic<bool> entered{false};
  std::atomic<int> sockets{0};  // That were given to the thread, as it sees once it is let go.
};

class StuckBackend final : public IoBackend {
 public:
  explicit StuckBackend(Stuck& stuck) : stuck_(stuck) {}

  std::string_view name() const override { return "stuck"; }

  bool add(IoSocket&) override {
    ++stuck_.sockets;
    return true;
  }

  void receive(IoSocket&) override {}

  void send(IoSocket&, std::span<const std::byte>) override {}

  void remove(std::unique_ptr<IoSocket> socket) override { ::close(socket->fd); }

  void advance(Sink&, int) override {
    stuck_.entered = true;
    stuck_.entered.notify_all();
    stuck_.hangs.wait(true);
  }

  void wake() override {}

 private:
  Stuck& stuck_;
};

// Two threads, of which the first hangs.
class StalledThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started =
        IoThreads::start(context_,
                         {.thread_count = 2,
                          .open = [this](IoBackendWish) -> Result<OpenedBackend> {
                            if (std::exchange(first_, false)) {
                              return OpenedBackend{std::make_unique<StuckBackend>(stuck_), {}};
                            }
                            return open_backend(IoBackendWish::Epoll);
                          },
                          .now_us = [this] { return now_us_.load(); }},
                         counters_);
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    threads_ = std::move(started).value();
    stuck_.entered.wait(false);
  }

  ~StalledThreadTest() override { stuck_.let_go(); }

  // Connects, is closed, and sees it if `served`. False: no thread takes it, or none in time.
  bool come_and_go(bool served) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const timeval longest{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    std::unique_ptr<ConnectionTls> no_tls;
    const bool made = threads_->make(ends[0], no_tls) != nullptr;
    threads_->hand_over();
    std::byte byte{};
    const bool ended = made && served && ::recv(ends[1], &byte, 1, 0) == 0;
    ::close(ends[1]);
    if (!made) {
      ::close(ends[0]);
    }
    return made && ended == served;
  }

  Stuck stuck_;
  bool first_ = true;
  std::atomic<std::uint64_t> now_us_{1'000'000};
  asio::io_context context_;
  MetricsRegistry metrics_;
  IoCounters counters_{metrics_};
  std::unique_ptr<IoThreads> threads_;
};

// It has the fewest, because nobody stays where nobody is served.
TEST_F(StalledThreadTest, NewcomersGoToTheThreadThatWorks) {
  EXPECT_TRUE(come_and_go(false));
  now_us_ += IoThread::kStalledUs;
  for (int k = 0; k < 10; ++k) {
    ASSERT_TRUE(come_and_go(true)) << k;
  }
  stuck_.let_go();
  threads_.reset();
  EXPECT_EQ(stuck_.sockets, 1);
}

TEST_F(StalledThreadTest, AStallShowsWithoutNewcomersAndEnds) {
  EXPECT_EQ(threads_->probe(), 0u);
  now_us_ += IoThread::kStalledUs - 1;
  while (threads_->probe() != 0) {  // One thread sleeps or takes the probe, the other does neither.
    std::this_thread::yield();
  }
  now_us_ += 1;
  while (threads_->probe() != 1) {
    std::this_thread::yield();
  }
  stuck_.let_go();
  while (threads_->probe() != 0) {
    std::this_thread::yield();
  }
}

// A command for each of many sockets, put in while the thread works, is load and no stall.
TEST(IoMailbox, ManyCommandsAreNoStallAndOneThatLiesIs) {
  IoMailbox mailbox;
  std::vector<IoCommand> batch(100'000);
  mailbox.put(batch, 1'000);
  EXPECT_EQ(mailbox.waiting_us(1'000), 0u);
  batch.resize(1);
  mailbox.put(batch, 5'000);
  EXPECT_EQ(mailbox.waiting_us(6'000), 5'000u) << "since the first of them";
  EXPECT_TRUE(mailbox.take(batch));
  EXPECT_EQ(mailbox.waiting_us(9'000), 0u);
  mailbox.put(batch, 10'000);
  EXPECT_EQ(mailbox.waiting_us(10'500), 500u);
}

// A node that stops does not wait for it for ever.
TEST(StalledIoThread, ItsEndIsBounded) {
  Stuck stuck;
  LoopBell bell;
  MetricsRegistry metrics;
  IoCounters counters(metrics);
  int told = 0;
  {
    IoThread thread(std::make_unique<StuckBackend>(stuck),
                    {.bell = bell,
                     .counters = counters,
                     .end_limit = std::chrono::milliseconds(1),
                     .on_stuck = [&] {
                       ++told;
                       stuck.let_go();
                     }});
    stuck.entered.wait(false);
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace gcoord::server
