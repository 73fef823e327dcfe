// The joining of two processes over shared host memory: what a device adds is only where the memory
// lies, so the handshake, hostile callers and dead peers are tested here, without one.
#include "netcore/gpu_channel/nvlink.h"

#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace gcoord::netcore {
namespace {

constexpr ProbeOptions kEndless = {
    .slot_count = ~std::uint64_t{0} >> 1, .seed = 3, .timeout_ns = 60 * kSecondNs};

struct SocketPair {
  SocketPair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    ends[0] = OwnedFd{fds[0]};
    ends[1] = OwnedFd{fds[1]};
  }

  OwnedFd ends[2];
};

GpuNvlinkOptions options_of(std::uint32_t self, std::uint32_t epoch_min = 1) {
  GpuNvlinkOptions options;
  options.cluster = ClusterId{9};
  options.self = NodeId{self};
  options.peer = NodeId{3 - self};
  options.layout = sample_layout(1, 64);
  options.epoch_min = epoch_min;
  options.timeout_ms = 10'000;
  return options;
}

// What node 1 answers when node 2 greets with `other`.
Status joined_with(const GpuNvlinkOptions& other) {
  SocketPair sockets;
  MemoryRegistry registry{make_host_memory()};
  std::thread peer{[&] {
    MemoryRegistry own{make_host_memory()};
    const auto ignored = join_gpu_nvlink(own, sockets.ends[1], other);
  }};
  const auto joined = join_gpu_nvlink(registry, sockets.ends[0], options_of(1));
  peer.join();
  return joined.ok() ? Status{} : joined.status();
}

TEST(GpuNvlink, TheGreaterOfBothEpochsLives) {
  SocketPair sockets;
  MemoryRegistry registry{make_host_memory()};
  std::unique_ptr<GpuChannel> other;
  std::thread peer{[&] {
    MemoryRegistry own{make_host_memory()};
    auto joined = join_gpu_nvlink(own, sockets.ends[1], options_of(2, 40));
    EXPECT_EQ(joined.ok() ? joined.value()->device().epoch : 0, 40u);
  }};
  const auto joined = join_gpu_nvlink(registry, sockets.ends[0], options_of(1, 5));
  peer.join();
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  EXPECT_EQ(joined.value()->device().epoch, 40u);
  EXPECT_EQ(joined.value()->device().control->epoch, 40u);
}

TEST(GpuNvlink, RefusesWhoeverIsNotTheExpectedPeer) {
  EXPECT_TRUE(joined_with(options_of(2)).ok());
  GpuNvlinkOptions other = options_of(2);
  other.cluster = ClusterId{10};
  EXPECT_EQ(joined_with(other).message(), "the peer belongs to another cluster");
  other = options_of(2);
  other.self = NodeId{7};
  EXPECT_EQ(joined_with(other).message(), "the peer is node 7 and expects node 1");
  other = options_of(2);
  other.layout = sample_layout(1, 128);
  EXPECT_EQ(joined_with(other).message(), "the peer has a different lane layout");
}

// Both numbers are the peer's word.
TEST(GpuNvlink, AnEpochThatWouldUseUpTheNumbersIsRefused) {
  EXPECT_EQ(joined_with(options_of(2, kGpuEpochLead + 2)).code(), StatusCode::DataLoss);
  EXPECT_EQ(joined_with(options_of(2, ~0u)).code(), StatusCode::DataLoss);
  EXPECT_EQ(joined_with(options_of(2, 1 + kEpochCount / 2)).code(), StatusCode::DataLoss)
      << "just opposite on the circle";
  EXPECT_TRUE(joined_with(options_of(2, kGpuEpochLead + 1)).ok());
}

// Whoever took the path first: memory is not given to a process of another user.
TEST(GpuNvlink, AListenerOfAnotherUserIsRefusedByTheCaller) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  const std::string path = "/tmp/gcoord-stranger-" + std::to_string(getpid());
  int said[2] = {-1, -1};
  ASSERT_EQ(pipe(said), 0);
  const pid_t stranger = fork();
  if (stranger == 0) {
    const bool changed = setuid(65534) == 0;
    const auto listener = listen_at(path);
    const char done = changed && listener.ok() ? 1 : 0;
    static_cast<void>(!write(said[1], &done, 1));
    pause();
    _exit(0);
  }
  char done = 0;
  ASSERT_EQ(read(said[0], &done, 1), 1);
  ASSERT_EQ(done, 1);
  EXPECT_EQ(call_at(path, 100).status().code(), StatusCode::PermissionDenied);
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  close(said[0]);
  close(said[1]);
  unlink(path.c_str());
}

TEST(GpuNvlink, RefusesGarbageShortMemoryAndSilence) {
  for (const int kind : {0, 1, 2, 3}) {
    SocketPair sockets;
    MemoryRegistry registry{make_host_memory()};
    const OwnedFd memory{memfd_create("short", MFD_CLOEXEC)};
    GpuGreeting greeting;
    std::span<const std::byte> message = std::as_bytes(std::span{&greeting, 1});
    if (kind == 0) {
      message = message.first(40);
    }
    GpuNvlinkOptions options = options_of(1);
    if (kind == 3) {
      options.timeout_ms = 20;
    }
    std::thread peer{[&] {
      GpuGreeting theirs;
      auto received =
          receive_with_fd(sockets.ends[1], std::as_writable_bytes(std::span{&theirs, 1}), 10'000);
      EXPECT_TRUE(received.ok());
      if (kind == 2) {
        greeting = theirs;  // All as it should be, but nothing behind the descriptor.
        std::swap(greeting.from_node, greeting.to_node);
      }
      if (kind != 3) {
        EXPECT_TRUE(send_with_fd(sockets.ends[1], message, memory.get()).ok());
      }
    }};
    const auto joined = join_gpu_nvlink(registry, sockets.ends[0], options);
    peer.join();
    ASSERT_FALSE(joined.ok());
    const StatusCode expected[] = {StatusCode::DataLoss,
                                   StatusCode::FailedPrecondition,
                                   StatusCode::FailedPrecondition,
                                   StatusCode::DeadlineExceeded};
    EXPECT_EQ(joined.status().code(), expected[kind]) << joined.status().to_string();
    EXPECT_TRUE(registry.ranges().empty());
  }
}

// A peer process: joins as node 2 and works `body` until it is killed.
class PeerProcess {
 public:
  PeerProcess(SocketPair& sockets, const std::function<void(const GpuChannelDevice&)>& body) {
    pid_ = fork();
    if (pid_ == 0) {
      MemoryRegistry registry{make_host_memory()};
      const auto joined = join_gpu_nvlink(registry, sockets.ends[1], options_of(2));
      if (joined.ok()) {
        body(joined.value()->device());
      }
      _exit(0);
    }
  }

  ~PeerProcess() { end(); }

  void signal(int number) const { ::kill(pid_, number); }

  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }

 private:
  pid_t pid_ = -1;
};

TEST(GpuNvlink, ASurvivorsWaitEndsWhenItsPeerIsKilledInTheMiddleOfAStream) {
  SocketPair sockets;
  PeerProcess peer{sockets,
                   [](const GpuChannelDevice& channel) { probe_send(channel, 0, kEndless); }};
  MemoryRegistry registry{make_host_memory()};
  const auto joined = join_gpu_nvlink(registry, sockets.ends[0], options_of(1));
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  ProbeOptions first = kEndless;
  first.slot_count = 1'000;
  const ProbeResult before = probe_receive(joined.value()->device(), 0, first);
  EXPECT_EQ(before.status, WaitStatus::Ready);
  peer.end();
  ProbeOptions rest = kEndless;
  rest.timeout_ns = kSecondNs / 5;
  const ProbeResult after = probe_receive(joined.value()->device(), 0, rest);
  EXPECT_EQ(after.status, WaitStatus::TimedOut);
  EXPECT_EQ(before.wrong_words + after.wrong_words, 0u);
  // Memory that a dead peer shared stays; sending into it ends at the credit, not in a fault.
  const ProbeResult sent = probe_send(joined.value()->device(), 0, rest);
  EXPECT_EQ(sent.status, WaitStatus::TimedOut);
  EXPECT_EQ(sent.slots, 64 - kControlReserveSlots);
}

TEST(GpuNvlink, AStoppedPeerCostsADeadlineAndAResumedOneGoesOn) {
  SocketPair sockets;
  PeerProcess peer{sockets,
                   [](const GpuChannelDevice& channel) { probe_send(channel, 0, kEndless); }};
  MemoryRegistry registry{make_host_memory()};
  const auto joined = join_gpu_nvlink(registry, sockets.ends[0], options_of(1));
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  peer.signal(SIGSTOP);
  ProbeOptions options = kEndless;
  options.timeout_ns = kSecondNs / 10;
  EXPECT_EQ(probe_receive(joined.value()->device(), 0, options).status, WaitStatus::TimedOut);
  peer.signal(SIGCONT);
  options.timeout_ns = 30 * kSecondNs;
  options.slot_count = 500;
  const ProbeResult resumed = probe_receive(joined.value()->device(), 0, options);
  EXPECT_EQ(resumed.status, WaitStatus::Ready);
  EXPECT_EQ(resumed.wrong_words, 0u);
}

}  // namespace
}  // namespace gcoord::netcore
