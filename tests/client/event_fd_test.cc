// The descriptor of a watch: readable exactly while next(0) would not come back empty.
#include "client/notices/event_descriptor.h"
#include "client/watches/watch_state.h"
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kPatience{1};  // Only an end for a test that fails.
constexpr int kPatienceMs = 60'000;

bool readable(int fd, int timeout_ms = 0) {
  pollfd what{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&what, 1, timeout_ms) == 1 && (what.revents & POLLIN) != 0;
}

bool open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

int event_fd(Watch& watch) {
  const auto fd = watch.event_fd();
  EXPECT_TRUE(fd.ok()) << fd.status().to_string();
  return fd.ok() ? fd.value() : -1;
}

protocol::WatchBlock block(std::uint64_t revision, protocol::WatchEventKind kind) {
  return {kShard, LogIndex{revision}, {{kind, "a", FencingToken{1}, SessionId{5}, {}}}};
}

protocol::WatchBlock block(std::uint64_t revision) {
  return block(revision, protocol::WatchEventKind::Granted);
}

protocol::WatchProgressPart place(std::uint64_t revision) {
  return {.last = true, .revisions = {{kShard, LogIndex{revision}}}};
}

std::uint64_t taken(WatchState& state) {
  const auto batch = state.take(milliseconds{0});
  EXPECT_TRUE(batch.ok()) << batch.status().to_string();
  return batch.ok() && batch.value() ? batch.value()->revision : 0;
}

WatchState::Hooks no_hooks() {
  return {
      .on_room = [] {}, .on_close = [] {}, .on_ask = [] {}, .on_own_thread = [] { return false; }};
}

TEST(EventDescriptor, ItIsMadeWhenItIsAskedForAndNoProgramThatIsStartedHasIt) {
  EventDescriptor descriptor;
  descriptor.set(true);
  descriptor.close();
  const int fd = descriptor.get(true).value();
  EXPECT_TRUE(readable(fd)) << "as it is to be from the beginning";
  EXPECT_EQ(descriptor.get(false).value(), fd);
  EXPECT_TRUE(readable(fd));
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  descriptor.close();
  EXPECT_FALSE(open(fd));
}

TEST(EventDescriptor, WhoReadsItFindsItReadableAgainWhenItIsSaidAgain) {
  EventDescriptor descriptor;
  const int fd = descriptor.get(false).value();
  EXPECT_FALSE(readable(fd));
  std::uint64_t count = 0;
  EXPECT_EQ(::read(fd, &count, sizeof count), -1);
  EXPECT_EQ(errno, EAGAIN) << "it does not block";
  descriptor.set(true);
  EXPECT_EQ(::read(fd, &count, sizeof count), 8);
  EXPECT_FALSE(readable(fd));
  descriptor.set(true);
  EXPECT_TRUE(readable(fd));
  descriptor.set(false);
  descriptor.set(false);
  EXPECT_FALSE(readable(fd));
}

TEST(EventDescriptor, AProcessWithoutRoomForItIsToldSo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EventDescriptor descriptor;
  const auto refused = descriptor.get(true);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.status().code(), StatusCode::ResourceExhausted);
  EXPECT_NE(refused.status().message().find("ulimit"), std::string::npos);
  EXPECT_TRUE(readable(descriptor.get(true).value())) << "asked again it may be there";
}

TEST(WatchState, Row213TheDescriptorIsReadableWhileABatchWaits) {
  WatchState state({.prefix = "", .kinds = {EventKind::Granted}}, {});
  ASSERT_TRUE(state.accept(block(5)));
  const int fd = state.event_fd().value();
  EXPECT_TRUE(readable(fd)) << "it came before";
  ASSERT_TRUE(state.accept(block(6)));
  EXPECT_EQ(taken(state), 5u);
  EXPECT_TRUE(readable(fd)) << "there is more";
  EXPECT_EQ(taken(state), 6u);
  EXPECT_FALSE(readable(fd));
  state.note(place(7));
  ASSERT_TRUE(state.accept(block(8, protocol::WatchEventKind::Released)));
  EXPECT_FALSE(readable(fd)) << "of progress, and of what is not wanted, there is nothing to take";
  EXPECT_EQ(taken(state), 0u);
  ASSERT_TRUE(state.accept(block(9)));
  EXPECT_TRUE(readable(fd));
}

// Who only takes while it is readable comes as far as the watch.
TEST(WatchState, Row213ProgressBehindABatchIsTakenWithIt) {
  WatchState state({.prefix = ""}, {});
  const int fd = state.event_fd().value();
  ASSERT_TRUE(state.accept(block(5)));
  state.note(place(7));
  ASSERT_TRUE(state.accept(block(8)));
  state.note(place(9));
  EXPECT_EQ(taken(state), 5u);
  EXPECT_EQ(state.revisions().at(0).revision, 7u);
  EXPECT_EQ(taken(state), 8u);
  EXPECT_EQ(state.revisions().at(0).revision, 9u);
  EXPECT_FALSE(readable(fd));
  EXPECT_EQ(state.queue_items(), 0u);
}

TEST(WatchState, Row213FromItsEndOnTheDescriptorIsReadableForEver) {
  WatchState state({.prefix = ""}, {});
  state.set_hooks(no_hooks());
  const int fd = state.event_fd().value();
  ASSERT_TRUE(state.accept(block(5)));
  state.fail(Status{StatusCode::OutOfRange, "gone", 6201}, {kShard.value, 9});
  EXPECT_EQ(taken(state), 5u) << "what came before its end is still to be had";
  std::uint64_t count = 0;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(readable(fd));
    EXPECT_EQ(::read(fd, &count, sizeof count), 8);
    EXPECT_EQ(state.take(milliseconds{0}).status().detail(), 6201u);
  }
  state.close();
  EXPECT_TRUE(readable(fd));
  state.retire_event_fd();
  EXPECT_FALSE(open(fd));
  state.fail(Status{StatusCode::Cancelled, "too late", 4010});
}

// One thread is told, another one waits for the descriptor alone: it must miss nothing.
void expect_all_taken(bool reads_it) {
  constexpr std::uint64_t kBatches = 20'000;
  WatchState state({.prefix = ""}, {});
  const int fd = state.event_fd().value();
  std::jthread feed([&state] {
    for (std::uint64_t revision = 1; revision <= kBatches; ++revision) {
      EXPECT_TRUE(state.accept(block(revision)));
      state.note(place(revision));
    }
  });
  std::uint64_t newest = 0;
  while (newest < kBatches && readable(fd, kPatienceMs)) {
    std::uint64_t count = 0;
    if (reads_it) {
      EXPECT_EQ(::read(fd, &count, sizeof count), 8);
    }
    const std::uint64_t revision = taken(state);
    ASSERT_EQ(revision, newest + 1) << "it said that there was one";
    newest = revision;
  }
  EXPECT_EQ(newest, kBatches);
  EXPECT_FALSE(readable(fd));
}

TEST(WatchState, Row213WhoWaitsForTheDescriptorMissesNothing) {
  expect_all_taken(false);
}

TEST(WatchState, Row213WhoReadsTheDescriptorMissesNothingEither) {
  expect_all_taken(true);
}

TEST(WatchState, Row213WithEdgesThereIsOneForEachBatch) {
  WatchState state({.prefix = ""}, {});
  const int fd = state.event_fd().value();
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
  ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &wanted), 0);
  epoll_event came{};
  EXPECT_EQ(::epoll_wait(loop, &came, 1, 0), 0);
  for (std::uint64_t revision = 1; revision <= 3; ++revision) {
    ASSERT_TRUE(state.accept(block(revision)));
    EXPECT_EQ(::epoll_wait(loop, &came, 1, 0), 1) << "though nothing was taken";
    EXPECT_EQ(came.data.fd, fd);
    EXPECT_EQ(::epoll_wait(loop, &came, 1, 0), 0);
  }
  ::close(loop);
}

class EventFdTest : public ClientTest {
 protected:
  // Watches that are told batch 7 as soon as they begin, or 7 and all up to `newest`.
  void tell_batches(std::uint64_t newest = 7) {
    cluster_.answer_with(watches(
        [newest](std::uint64_t id) {
          std::vector<FakeReply> told;
          for (std::uint64_t revision = 7; revision <= newest; ++revision) {
            told.push_back(granted(id, revision));
          }
          return told;
        },
        {}));
  }
};

TEST_F(EventFdTest, Row213AnEventLoopTakesABacklogThatDoesNotFit) {
  tell_batches(9);
  Client client = connect();
  auto watch = client.watch({.prefix = "", .queue_bytes_max = 1});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const int fd = event_fd(watch.value());
  for (std::uint64_t revision = 7; revision <= 9; ++revision) {
    ASSERT_TRUE(readable(fd, kPatienceMs)) << "the node goes on when there is room";
    const auto batch = watch.value().next(milliseconds{0});
    ASSERT_TRUE(batch.ok() && batch.value());
    EXPECT_EQ(batch.value()->revision, revision);
  }
  EXPECT_FALSE(watch.value().next(milliseconds{0}).value());
  EXPECT_FALSE(readable(fd));
}

TEST_F(EventFdTest, Row213WhoPollsWakesWhenTheWatchIsClosed) {
  Client client = connect();
  cluster_.answer_with(watches({}, {}));
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const int fd = event_fd(watch.value());
  EXPECT_FALSE(readable(fd));
  auto woken = std::async(std::launch::async, [fd] { return readable(fd, kPatienceMs); });
  watch.value().close();
  EXPECT_TRUE(woken.get());
  EXPECT_EQ(watch.value().next(milliseconds{0}).status().detail(), 6207u);
  EXPECT_TRUE(readable(fd));
  EXPECT_EQ(event_fd(watch.value()), fd) << "it lives as long as the watch";
}

TEST_F(EventFdTest, Row213TheEndOfTheClientIsTold) {
  tell_batches();
  std::optional<Client> client = connect();
  auto watch = client->watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const int fd = event_fd(watch.value());
  ASSERT_TRUE(readable(fd, kPatienceMs));
  client.reset();
  EXPECT_EQ(watch.value().next(milliseconds{0}).value()->revision, 7u);
  EXPECT_TRUE(readable(fd));
  EXPECT_EQ(watch.value().next(milliseconds{0}).status().detail(), 4010u);
}

// A watch outlives its nodes, and has nothing to say of that.
TEST_F(EventFdTest, Row213ALostClusterIsNoEventAndWhatComesBehindItIs) {
  const auto newest = std::make_shared<std::atomic<std::uint64_t>>(7);  // Shared with the nodes.
  cluster_.answer_with(
      watches([newest](std::uint64_t id) { return std::vector{granted(id, *newest)}; },
              [](const FakeRequest&) { return std::nullopt; }));
  ClientOptions how = options();
  how.clock = boot_clock();  // Attempts come with pauses.
  auto client = Client::connect(how);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto watch = client.value().watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const int fd = event_fd(watch.value());
  ASSERT_TRUE(readable(fd, kPatienceMs));
  EXPECT_EQ(watch.value().next(milliseconds{0}).value()->revision, 7u);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.stop_node(NodeId{node});
  }
  EXPECT_EQ(watch.value().progress(milliseconds{1}).status().detail(), 4009u);
  EXPECT_FALSE(readable(fd));
  *newest = 8;
  cluster_.start_node(NodeId{2});
  ASSERT_TRUE(readable(fd, kPatienceMs));
  EXPECT_EQ(watch.value().next(milliseconds{0}).value()->revision, 8u);
}

TEST_F(EventFdTest, Row213TheDescriptorGoesWithItsWatch) {
  tell_batches();
  Client client = connect();
  auto opened = client.watch({.prefix = ""});
  auto other = client.watch({.prefix = ""});
  ASSERT_TRUE(opened.ok() && other.ok());
  const int fd = event_fd(opened.value());
  Watch moved = std::move(opened).value();
  EXPECT_EQ(event_fd(moved), fd);
  const int copy = ::dup(fd);  // Tells of the same event, and keeps its number from being reused.
  moved = std::move(other).value();
  EXPECT_NE(event_fd(moved), copy);
  EXPECT_TRUE(readable(copy)) << "the watch was closed first";
  ::close(copy);
}

TEST_F(EventFdTest, Row213AWatchWithACallbackHasNone) {
  tell_batches();
  Collected<std::uint64_t> told;
  Client client = connect();
  auto watch = client.watch({.prefix = ""}, [&told](const Result<WatchBatch>& batch) {
    told.add(batch.ok() ? batch.value().revision : 0);
  });
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_EQ(watch.value().event_fd().status().detail(), 6204u);
  EXPECT_EQ(told.wait_for(1), (std::vector<std::uint64_t>{7}));
}

}  // namespace
}  // namespace gcoord::client
