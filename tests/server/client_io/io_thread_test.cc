// An I/O thread alone, over socket pairs, with each backend that the kernel allows. The test is the
// loop's thread.
#include "server/client_io/io_thread.h"

#include "server/client_io/open_backend.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

std::vector<std::byte> frame_of(std::uint64_t id, std::size_t payload_bytes) {
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LockCheck;
  slot.request_id = id;
  std::vector<std::byte> bytes;
  builder.add(slot, std::vector<std::byte>(payload_bytes));
  builder.finish(bytes);
  return bytes;
}

class IoThreadTest : public testing::TestWithParam<IoBackendWish> {
 protected:
  // One end of each is the thread's, under the key of its place; the other is the test's.
  void start(std::size_t socket_count, std::size_t report_slots = 64) {
    auto opened = open_backend(GetParam());
    if (!opened.ok()) {
      GTEST_SKIP() << opened.status().message();
    }
    thread_ = std::make_unique<IoThread>(std::move(opened.value().backend), options(report_slots));
    for (std::size_t key = 0; key < socket_count; ++key) {
      std::array<int, 2> ends{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
      thread_->post({.kind = IoCommand::Kind::Add, .fd = ends[0], .socket = key});
      clients_.push_back(ends[1]);
    }
  }

  IoThread::Options options(std::size_t report_slots) {
    return {.bell = bell_, .counters = counters_, .report_slots = report_slots};
  }

  ~IoThreadTest() override {
    thread_.reset();
    for (const int fd : clients_) {
      ::close(fd);
    }
  }

  void receive(std::uint64_t key, std::unique_ptr<CheckedInput> input = nullptr) {
    thread_->post({.kind = IoCommand::Kind::Receive,
                   .socket = key,
                   .input = input ? std::move(input) : std::make_unique<CheckedInput>()});
  }

  void send(std::uint64_t key, std::vector<std::byte> bytes, bool tell = false) {
    thread_->post(
        {.kind = IoCommand::Kind::Send, .tell = tell, .socket = key, .bytes = std::move(bytes)});
  }

  // The next report, after everything that was posted.
  std::optional<IoReport> next() {
    thread_->hand_over();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    IoReport report;
    while (!thread_->take(report)) {
      if (std::chrono::steady_clock::now() > deadline) {
        return std::nullopt;
      }
      std::this_thread::yield();
    }
    return report;
  }

  bool quiet() {
    thread_->hand_over();
    thread_->settle();
    IoReport report;
    return !thread_->take(report);
  }

  void write(std::size_t client, std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(clients_[client], bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // What has come to a client; its end is nothing.
  std::vector<std::byte> read(std::size_t client) {
    std::vector<std::byte> bytes(1 << 20);
    const ssize_t count = ::recv(clients_[client], bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

  LoopBell bell_;
  MetricsRegistry metrics_;
  IoCounters counters_{metrics_};
  std::unique_ptr<IoThread> thread_;
  std::vector<int> clients_;
};

TEST_P(IoThreadTest, AReceiveIsOneReadOfCheckedFrames) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  receive(0);
  EXPECT_TRUE(quiet()) << "nothing has come";
  write(0, frame_of(7, 100));
  std::optional<IoReport> report = next();
  ASSERT_TRUE(report.has_value() && report->input != nullptr);
  protocol::FrameView frame;
  ASSERT_EQ(report->input->next(frame), protocol::DecodeStep::Frame);
  EXPECT_EQ(frame.request(0).request_id, 7u);
  EXPECT_EQ(report->input->next(frame), protocol::DecodeStep::NeedMore);
  write(0, std::vector<std::byte>(200));
  EXPECT_TRUE(quiet()) << "the loop has not given its credit back";
  receive(0, std::move(report->input));
  report = next();
  ASSERT_TRUE(report.has_value() && report->input != nullptr);
  EXPECT_EQ(report->input->next(frame), protocol::DecodeStep::Bad);
  EXPECT_EQ(report->input->bad(), protocol::BadFrame::Magic);
}

TEST_P(IoThreadTest, APartOfAFrameIsReportedWithItsMemory) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  const std::vector<std::byte> bytes = frame_of(7, 5'000);
  receive(0);
  write(0, std::span(bytes).first(3'000));
  std::optional<IoReport> report = next();
  ASSERT_TRUE(report.has_value() && report->input != nullptr);
  EXPECT_TRUE(report->input->begun());
  EXPECT_GE(report->input->memory_bytes(), 3'000u);
  receive(0, std::move(report->input));
  write(0, std::span(bytes).subspan(3'000));
  report = next();
  ASSERT_TRUE(report.has_value() && report->input != nullptr);
  protocol::FrameView frame;
  EXPECT_EQ(report->input->next(frame), protocol::DecodeStep::Frame);
}

TEST_P(IoThreadTest, TheEndOfAClientIsReportedAfterWhatItSent) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  write(0, frame_of(7, 0));
  ::shutdown(clients_[0], SHUT_WR);
  receive(0);
  std::optional<IoReport> report = next();
  ASSERT_TRUE(report.has_value() && report->input != nullptr);
  EXPECT_FALSE(report->gone);
  protocol::FrameView frame;
  EXPECT_EQ(report->input->next(frame), protocol::DecodeStep::Frame);
  receive(0, std::move(report->input));
  report = next();
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->gone);
}

TEST_P(IoThreadTest, OutputLeavesInOrderAndWhoDoesNotReadIsReportedBlocked) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  constexpr std::size_t kChunk = 100'000;
  constexpr std::size_t kChunks = 30;
  std::size_t charged = 0;
  for (std::size_t k = 0; k < kChunks; ++k) {
    std::vector<std::byte> bytes(kChunk, static_cast<std::byte>(k));
    charged += bytes.capacity();
    send(0, std::move(bytes));
  }
  std::size_t sent = 0;
  std::size_t freed = 0;
  bool blocked = false;
  const auto take = [&] {
    const std::optional<IoReport> report = next();
    ASSERT_TRUE(report.has_value());
    sent += report->sent_bytes;
    freed += report->freed_bytes;
    blocked = report->blocked;
  };
  while (!blocked) {
    ASSERT_NO_FATAL_FAILURE(take());
  }
  EXPECT_LT(sent, kChunk * kChunks);
  std::vector<std::byte> got;
  while (got.size() < kChunk * kChunks) {
    const std::vector<std::byte> bytes = read(0);
    got.insert(got.end(), bytes.begin(), bytes.end());
  }
  while (sent < kChunk * kChunks) {
    ASSERT_NO_FATAL_FAILURE(take());
  }
  EXPECT_EQ(freed, charged);
  EXPECT_FALSE(blocked);
  for (std::size_t k = 0; k < kChunks; ++k) {
    EXPECT_EQ(got[k * kChunk], static_cast<std::byte>(k));
    EXPECT_EQ(got[(k + 1) * kChunk - 1], static_cast<std::byte>(k));
  }
}

TEST_P(IoThreadTest, TheLoopIsWokenForOutputOnlyIfItWaitsForIt) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  thread_->hand_over();
  bell_.silence();
  send(0, std::vector<std::byte>(10));
  ASSERT_TRUE(next().has_value());
  thread_->settle();  // It rings after it has reported.
  EXPECT_TRUE(bell_.arm()) << "nobody rang";
  EXPECT_EQ(bell_.wake_count(), 0u);
  send(0, std::vector<std::byte>(10), true);
  ASSERT_TRUE(next().has_value());
  thread_->settle();
  bell_.silence();
  EXPECT_EQ(bell_.wake_count(), 1u);
}

TEST_P(IoThreadTest, AClosedSocketHasSentWhatWasHere) {
  start(1);
  if (IsSkipped()) {
    return;
  }
  send(0, std::vector<std::byte>(5'000));
  send(0, std::vector<std::byte>(5'000));
  thread_->post({.kind = IoCommand::Kind::Close, .socket = 0});
  thread_->hand_over();
  thread_->settle();
  EXPECT_EQ(read(0).size(), 10'000u);
  std::byte byte{};
  EXPECT_EQ(::recv(clients_[0], &byte, 1, MSG_DONTWAIT), 0) << "its end";
}

TEST_P(IoThreadTest, TheEndOfTheThreadClosesWhatItHas) {
  start(3);
  if (IsSkipped()) {
    return;
  }
  receive(0);
  send(1, std::vector<std::byte>(5'000'000));  // More than it takes.
  thread_->hand_over();
  thread_->settle();
  thread_.reset();
  for (std::size_t k = 0; k < 3; ++k) {
    while (!read(k).empty()) {
    }
    std::byte byte{};
    EXPECT_LE(::recv(clients_[k], &byte, 1, MSG_DONTWAIT), 0) << k;
  }
}

TEST_P(IoThreadTest, AFullRingHoldsReportsBackAndLosesNone) {
  constexpr std::size_t kSockets = 40;
  start(kSockets, 4);
  if (IsSkipped()) {
    return;
  }
  for (std::size_t k = 0; k < kSockets; ++k) {
    receive(k);
    write(k, frame_of(k + 1, 0));
  }
  std::map<std::uint64_t, std::uint64_t> got;
  for (std::size_t k = 0; k < kSockets; ++k) {
    const std::optional<IoReport> report = next();
    ASSERT_TRUE(report.has_value() && report->input != nullptr);
    protocol::FrameView frame;
    ASSERT_EQ(report->input->next(frame), protocol::DecodeStep::Frame);
    got[report->socket] = frame.request(0).request_id;
  }
  ASSERT_EQ(got.size(), kSockets);
  for (const auto& [key, id] : got) {
    EXPECT_EQ(id, key + 1);
  }
}

// What fills it may be for nobody in a hurry, and what waits behind it may be.
TEST_P(IoThreadTest, AFullRingWakesTheLoop) {
  constexpr std::size_t kSockets = 8;
  start(kSockets, 4);
  if (IsSkipped()) {
    return;
  }
  thread_->hand_over();
  bell_.silence();
  for (std::size_t k = 0; k < kSockets; ++k) {
    send(k, std::vector<std::byte>(10));
  }
  thread_->hand_over();
  thread_->settle();
  EXPECT_FALSE(bell_.arm()) << "reports wait for room";
}

std::string backend_name(const testing::TestParamInfo<IoBackendWish>& param) {
  return param.param == IoBackendWish::Epoll ? "Epoll" : "IoUring";
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         IoThreadTest,
                         testing::Values(IoBackendWish::Epoll, IoBackendWish::IoUring),
                         backend_name);

// Notes the name of the thread that it works in.
class NamingBackend final : public IoBackend {
 public:
  explicit NamingBackend(std::string& thread) : thread_(thread) {}

  std::string_view name() const override { return "naming"; }

  bool idle() const override { return true; }

  bool add(IoSocket&) override { return true; }

  void receive(IoSocket&) override {}

  void send(IoSocket&, std::span<const std::byte>) override {}

  void remove(std::unique_ptr<IoSocket>) override {}

  void advance(Sink&, int) override {
    std::array<char, 16> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    thread_ = name.data();
  }

  void wake() override {}

 private:
  std::string& thread_;  // To be read when the thread has ended.
};

TEST(IoThreadName, TheKernelsToolsShowItByItsNumber) {
  std::string name;
  LoopBell bell;
  MetricsRegistry metrics;
  IoCounters counters(metrics);
  {
    IoThread thread(std::make_unique<NamingBackend>(name),
                    {.bell = bell, .counters = counters, .number = 3});
    thread.settle();
  }
  EXPECT_EQ(name, "io-3");
}

}  // namespace
}  // namespace gcoord::server
