// The C interface: watches, and what a client knows of its cluster.
#include "gcoord/gcoord_cluster.h"
#include "gcoord/gcoord_watch.h"
#include "tests/client/c_interface.h"
#include "tests/client/fake_watches.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

constexpr std::int64_t kPatienceMs = 60'000;  // Only an end for a test that fails.

class CWatchTest : public CInterfaceTest {
 protected:
  CWatchTest() {
    cluster_.answer_with(watches([](std::uint64_t id) { return std::vector{granted(id, 7)}; },
                                 [](const FakeRequest& request) { return answer_to(request, 9); }));
    gcoord_watch_options_init(&options_);
    options_.prefix = "";
  }

  void TearDown() override {
    gcoord_watch_free(watch_);
    CInterfaceTest::TearDown();
  }

  void open() {
    ASSERT_EQ(gcoord_watch_open(client_, &options_, &watch_, &error_), GCOORD_OK) << error_.message;
  }

  std::uint32_t refusal() {
    EXPECT_NE(gcoord_watch_open(client_, &options_, &watch_, &error_), GCOORD_OK);
    EXPECT_EQ(watch_, nullptr);
    return error_.number;
  }

  gcoord_watch_options options_;
  gcoord_watch* watch_ = nullptr;
};

TEST_F(CWatchTest, W2RevisionsRiseWithWhatIsTakenAndOnDemand) {
  open();
  gcoord_revision place{};
  EXPECT_EQ(gcoord_watch_revisions(watch_, nullptr, 0), 1u);
  std::size_t count = 0;
  ASSERT_EQ(gcoord_watch_progress(watch_, kPatienceMs, &place, 1, &count, &error_), GCOORD_OK)
      << error_.message;
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(place.shard, kShard.value);
  EXPECT_EQ(place.revision, 9u);
  EXPECT_EQ(gcoord_watch_revisions(watch_, &place, 1), 1u);
  EXPECT_EQ(place.revision, 5u) << "nothing was taken yet";
  gcoord_batch* batch = nullptr;
  ASSERT_EQ(gcoord_watch_next(watch_, 0, &batch, &error_), GCOORD_OK);
  EXPECT_EQ(gcoord_batch_revision(batch), 7u);
  gcoord_batch_free(batch);
  ASSERT_EQ(gcoord_watch_next(watch_, 0, &batch, &error_), GCOORD_OK);
  EXPECT_EQ(batch, nullptr);
  EXPECT_EQ(gcoord_watch_revisions(watch_, &place, 1), 1u);
  EXPECT_EQ(place.revision, 9u);
  EXPECT_EQ(gcoord_watch_progress(watch_, kPatienceMs, nullptr, 0, nullptr, &error_), GCOORD_OK);
  EXPECT_EQ(gcoord_watch_first_revision(watch_).revision, 0u);
}

TEST_F(CWatchTest, W2ProgressAndTheQueueAreWhatTheOptionsSay) {
  options_.progress_interval_ms = 250;
  options_.queue_bytes_max = 1;
  cluster_.answer_with(watches(
      [](std::uint64_t id) {
        return std::vector{granted(id, 7), granted(id, 8)};
      },
      [](const FakeRequest& request) { return answer_to(request, 9); }));
  open();
  const auto asked = protocol::decode_watch_query(
      protocol::bytes_of(cluster_.requests(RequestKind::WatchOpen).at(0).payload));
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.value().progress_ms, 250u);
  cluster_.wait_for(RequestKind::WatchClose, 1);  // One batch is more than fits; the node waits.
  gcoord_batch* batch = nullptr;
  for (const std::uint64_t revision : {7u, 8u}) {
    ASSERT_EQ(gcoord_watch_next(watch_, kPatienceMs, &batch, &error_), GCOORD_OK);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(gcoord_batch_revision(batch), revision);
    gcoord_batch_free(batch);
  }
  const auto again = protocol::decode_watch_query(
      protocol::bytes_of(cluster_.wait_for(RequestKind::WatchOpen, 2).at(1).payload));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().from, (std::vector{protocol::ShardRevision{kShard, LogIndex{8}}}));
}

TEST_F(CWatchTest, W2WhatWasHeldBeforeIsToldToWhoAsks) {
  cluster_.answer_with(watches(
      [](std::uint64_t id) {
        using protocol::WatchBefore;
        using protocol::WatchEventKind;
        const FencingToken token{7};
        const protocol::WatchPrevious five{WatchBefore::Hold, token, SessionId{5}, "five"};
        std::vector<std::byte> payload;
        protocol::begin_watch_events(payload);
        protocol::append_watch_block(
            payload,
            {kShard,
             LogIndex{7},
             {{WatchEventKind::Released, "a", token, SessionId{5}, {}, five},
              {WatchEventKind::Granted, "b", token, {}, {}, {.before = WatchBefore::Nothing}},
              {WatchEventKind::Granted, "c", token, {}, {}, {}}}});
        return std::vector{told(id, payload)};
      },
      [](const FakeRequest& request) { return answer_to(request, 9); }));
  options_.previous = 1;
  open();
  EXPECT_TRUE(cluster_.requests(RequestKind::WatchOpen)
                  .at(0)
                  .slot.has(protocol::RequestFlag::WatchPrevious));
  gcoord_batch* batch = nullptr;
  ASSERT_EQ(gcoord_watch_next(watch_, kPatienceMs, &batch, &error_), GCOORD_OK);
  const gcoord_watch_previous five = gcoord_batch_previous(batch, 0);
  EXPECT_EQ(five.kind, GCOORD_PREVIOUS_HOLD);
  EXPECT_EQ(five.token, 7u);
  EXPECT_EQ(five.session_id, 5u);
  EXPECT_EQ((std::string{five.value, five.value_bytes}), "five");
  EXPECT_EQ(gcoord_batch_previous(batch, 1).kind, GCOORD_PREVIOUS_NOTHING);
  EXPECT_EQ(gcoord_batch_previous(batch, 2).kind, GCOORD_PREVIOUS_UNKNOWN);
  EXPECT_EQ(gcoord_batch_previous(batch, 3).kind, GCOORD_PREVIOUS_UNKNOWN) << "there is none";
  EXPECT_EQ(gcoord_batch_previous(nullptr, 0).value, nullptr);
  gcoord_batch_free(batch);
}

// What a callback was told: revisions, and at last a number.
struct Told {
  Collected<std::uint64_t> revisions;
  Collected<std::uint32_t> ends;
};

TEST_F(CWatchTest, W2ACallbackIsToldEachBatchAndWhyNoneComesAnyMore) {
  Told told;
  options_.user = &told;
  options_.on_batch = [](void* user, const gcoord_batch* batch, const gcoord_error* error) {
    Told& heard = *static_cast<Told*>(user);
    if (batch == nullptr) {
      return heard.ends.add(error->number);
    }
    EXPECT_EQ(error, nullptr);
    EXPECT_EQ(gcoord_batch_size(batch), 1u);
    EXPECT_STREQ(gcoord_batch_event(batch, 0).name, "a");
    heard.revisions.add(gcoord_batch_revision(batch));
  };
  open();
  EXPECT_EQ(told.revisions.wait_for(1), (std::vector<std::uint64_t>{7}));
  gcoord_batch* batch = nullptr;
  EXPECT_NE(gcoord_watch_next(watch_, 0, &batch, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 6204u);
  EXPECT_EQ(gcoord_client_free(std::exchange(client_, nullptr)), GCOORD_OK);
  EXPECT_EQ(told.ends.wait_for(1), (std::vector<std::uint32_t>{4010}));
  EXPECT_NE(gcoord_watch_progress(watch_, 0, nullptr, 0, nullptr, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 4010u);
}

// A loop over epoll, as a C program has one, until the watch has ended.
std::vector<std::uint64_t> revisions_by_epoll(gcoord_watch* watch, int fd, gcoord_error* why) {
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {.ptr = watch}};
  EXPECT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &wanted), 0);
  std::vector<std::uint64_t> revisions;
  epoll_event came{};
  while (::epoll_wait(loop, &came, 1, kPatienceMs) == 1) {
    auto* told = static_cast<gcoord_watch*>(came.data.ptr);
    gcoord_batch* batch = nullptr;
    if (gcoord_watch_next(told, 0, &batch, why) != GCOORD_OK) {
      break;
    }
    EXPECT_NE(batch, nullptr) << "it was readable";
    revisions.push_back(gcoord_batch_revision(batch));
    gcoord_batch_free(batch);
    if (revisions.size() == 3) {
      gcoord_watch_close(told);
    }
  }
  ::close(loop);
  return revisions;
}

TEST_F(CWatchTest, Row213AnEventLoopTakesWhatIsReadableUntilTheEnd) {
  cluster_.answer_with(watches(
      [](std::uint64_t id) {
        return std::vector{granted(id, 7), granted(id, 8), granted(id, 9)};
      },
      {}));
  open();
  int fd = -1;
  ASSERT_EQ(gcoord_watch_event_fd(watch_, &fd, &error_), GCOORD_OK) << error_.message;
  EXPECT_EQ(revisions_by_epoll(watch_, fd, &error_), (std::vector<std::uint64_t>{7, 8, 9}));
  EXPECT_EQ(error_.number, 6207u);
  pollfd what{.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&what, 1, 0), 1) << "it has ended, and says so";
  EXPECT_EQ(gcoord_client_free(std::exchange(client_, nullptr)), GCOORD_OK);
  EXPECT_EQ(::poll(&what, 1, 0), 1) << "it is the watch's, not the client's";
}

TEST_F(CWatchTest, Row213WhoHasNoDescriptorIsRefused) {
  int fd = -2;
  EXPECT_EQ(gcoord_watch_event_fd(nullptr, &fd, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  options_.on_batch = [](void*, const gcoord_batch*, const gcoord_error*) {};
  open();
  EXPECT_EQ(gcoord_watch_event_fd(watch_, nullptr, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_EQ(gcoord_watch_event_fd(watch_, &fd, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 6204u);
  EXPECT_EQ(fd, -2) << "results are untouched";
}

TEST_F(CWatchTest, WhatCannotBeMeantIsRefused) {
  options_.progress_interval_ms = -1;
  EXPECT_EQ(refusal(), 1001u);
  options_.progress_interval_ms = 0;
  options_.from_count = 1;
  EXPECT_EQ(refusal(), 1002u);
  options_.from_count = 0;
  options_.name = "a";
  EXPECT_EQ(refusal(), 6204u) << "a name and a prefix";
  EXPECT_TRUE(cluster_.requests(RequestKind::WatchOpen).empty());
  options_.name = nullptr;
  for (const std::uint32_t kinds : {1u, 1u << 8, 1u << 31}) {
    options_.kinds = kinds;
    EXPECT_EQ(refusal(), 6204u) << kinds;
  }
  options_.kinds = 1u << GCOORD_EVENT_EXPIRED | 1u << GCOORD_EVENT_BROKEN;
  open();
  EXPECT_EQ(protocol::decode_watch_query(
                protocol::bytes_of(cluster_.requests(RequestKind::WatchOpen).at(0).payload))
                .value()
                .kinds,
            12);
  EXPECT_EQ(gcoord_watch_progress(watch_, -2, nullptr, 0, nullptr, &error_),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(error_.number, 1001u);
  EXPECT_EQ(gcoord_watch_progress(nullptr, 0, nullptr, 0, nullptr, &error_),
            GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_watch_revisions(nullptr, nullptr, 0), 0u);
}

// Its init knows nothing of what lies behind the options that it was compiled with.
TEST_F(CWatchTest, AProgramThatWasCompiledWithTheFirstVersionGoesOnWorking) {
  constexpr std::size_t kFirst = offsetof(gcoord_watch_options, progress_interval_ms);
  std::memset(static_cast<void*>(&options_), 0xa5, sizeof options_);
  (gcoord_watch_options_init)(&options_);
  EXPECT_EQ(options_.struct_bytes, kFirst);
  for (std::size_t at = kFirst; at < sizeof options_; ++at) {
    ASSERT_EQ(reinterpret_cast<const unsigned char*>(&options_)[at], 0xa5) << at;
  }
  options_.prefix = "";
  open();
  gcoord_batch* batch = nullptr;
  ASSERT_EQ(gcoord_watch_next(watch_, kPatienceMs, &batch, &error_), GCOORD_OK);
  EXPECT_EQ(gcoord_batch_revision(batch), 7u);
  gcoord_batch_free(batch);

  gcoord_client_options client;
  std::memset(static_cast<void*>(&client), 0xa5, sizeof client);
  (gcoord_client_options_init)(&client);
  EXPECT_EQ(client.struct_bytes, offsetof(gcoord_client_options, backoff_min_ms));
  const std::string endpoints = comma_list(cluster_.endpoints());
  client.endpoints = endpoints.c_str();
  gcoord_client* connected = nullptr;
  EXPECT_EQ(gcoord_client_connect(&client, &connected, &error_), GCOORD_OK) << error_.message;
  EXPECT_EQ(gcoord_client_free(connected), GCOORD_OK);
}

TEST_F(CWatchTest, TheNodesOfAClusterAreShownWithTheirBreakers) {
  ASSERT_EQ(gcoord_client_wait_for_all_nodes(client_, kPatienceMs, &error_), GCOORD_OK);
  const auto second_node = [this] {
    gcoord_cluster_view* view = nullptr;
    EXPECT_EQ(gcoord_cluster_look(client_, &view, &error_), GCOORD_OK);
    EXPECT_EQ(gcoord_cluster_view_nodes(view), 3u);
    const gcoord_cluster_facts facts = gcoord_cluster_view_facts(view);
    EXPECT_EQ(facts.cluster_id, 77u);
    EXPECT_EQ(facts.shard_count, 16u);
    EXPECT_EQ(facts.election_timeout_ms, 1000);
    EXPECT_STREQ(gcoord_cluster_view_node(view, 3).address, "");
    for (std::size_t at = 0; at < 3; ++at) {
      const gcoord_node node = gcoord_cluster_view_node(view, at);
      if (node.node_id == 2) {
        EXPECT_EQ(node.address, cluster_.endpoints()[1]);
        EXPECT_EQ(node.connected, node.breaker == GCOORD_BREAKER_CLOSED);
        EXPECT_EQ(std::string{node.last_error}.empty(), node.connected);
        const auto seen = std::pair{node.connected, node.breaker};
        gcoord_cluster_view_free(view);
        return seen;
      }
    }
    gcoord_cluster_view_free(view);
    return std::pair{false, std::int32_t{-1}};
  };
  EXPECT_EQ(second_node(), (std::pair{true, std::int32_t{GCOORD_BREAKER_CLOSED}}));
  cluster_.stop_node(NodeId{2});
  while (second_node().first) {
    std::this_thread::yield();
  }
  EXPECT_EQ(second_node().second, GCOORD_BREAKER_OPEN)
      << "its pause is of a clock that stands still";
  gcoord_statistics statistics{};
  ASSERT_EQ(gcoord_client_statistics(client_, &statistics, &error_), GCOORD_OK);
  EXPECT_EQ(statistics.reconnects, 1u);
  const std::uint64_t before = statistics.requests;
  std::int32_t verdict = 0;
  ASSERT_EQ(gcoord_check(client_, "name", 7, &verdict, &error_), GCOORD_OK);
  ASSERT_EQ(gcoord_client_statistics(client_, &statistics, &error_), GCOORD_OK);
  EXPECT_GT(statistics.requests, before);
  EXPECT_EQ(gcoord_client_wait_for_all_nodes(client_, -1, &error_), GCOORD_INVALID_ARGUMENT);
  EXPECT_EQ(gcoord_cluster_look(client_, nullptr, &error_), GCOORD_INVALID_ARGUMENT);
}

TEST_F(CWatchTest, WhoWantsToFailFastDoesSoWhileNoNodeIsThere) {
  const std::string endpoints = comma_list(cluster_.endpoints());
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  options.endpoints = endpoints.c_str();
  options.request_timeout_ms = kPatienceMs;
  options.fail_fast = true;
  for (const auto& [min_ms, max_ms] : {std::pair{0, 10}, std::pair{20, 10}, std::pair{-5, 10}}) {
    options.backoff_min_ms = min_ms;
    options.backoff_max_ms = max_ms;
    gcoord_client* refused = nullptr;
    EXPECT_EQ(gcoord_client_connect(&options, &refused, &error_), GCOORD_INVALID_ARGUMENT);
    EXPECT_EQ(error_.number, 1001u);
    EXPECT_EQ(refused, nullptr);
  }
  options.backoff_min_ms = 60'000;  // No try while this test runs.
  options.backoff_max_ms = 60'000;
  gcoord_client* client = nullptr;
  ASSERT_EQ(gcoord_client_connect(&options, &client, &error_), GCOORD_OK) << error_.message;
  ASSERT_EQ(gcoord_client_wait_for_all_nodes(client, kPatienceMs, &error_), GCOORD_OK);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.stop_node(NodeId{node});
  }
  std::int32_t verdict = 0;
  EXPECT_EQ(gcoord_check(client, "name", 7, &verdict, &error_), GCOORD_UNAVAILABLE);
  EXPECT_EQ(error_.number, 3011u) << error_.message;
  EXPECT_EQ(gcoord_client_free(client), GCOORD_OK);
}

}  // namespace
}  // namespace gcoord::client
