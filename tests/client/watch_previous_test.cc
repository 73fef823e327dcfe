// Watches that ask what was held before each event (W2): what nodes are asked for, what comes of
// the answer, and where nodes are of a release that cannot say it.
#include "client/watches/watch_feed.h"
#include "client/watches/watch_state.h"
#include "protocol/watch_messages.h"
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestFlag;
using protocol::RequestKind;
using protocol::WatchBefore;
using protocol::WatchEventKind;
using std::chrono::milliseconds;

const protocol::WatchPrevious kFive{WatchBefore::Hold, FencingToken{7}, SessionId{5}, "five"};

// 5 lets go and 6 has it, 8 waits.
protocol::WatchBlock passed_on(bool asked) {
  protocol::WatchBlock block{
      kShard,
      LogIndex{8},
      {{WatchEventKind::Released, "a", FencingToken{7}, SessionId{5}, {}, kFive},
       {WatchEventKind::Granted, "a", FencingToken{8}, SessionId{6}, {}, kFive},
       {WatchEventKind::Waiting, "a", {}, SessionId{8}, {}, {.before = WatchBefore::Nothing}}}};
  for (protocol::WatchEvent& event : block.events) {
    event.previous = asked ? event.previous : protocol::WatchPrevious{};
  }
  return block;
}

class WatchPreviousTest : public ClientTest {
 protected:
  WatchPreviousTest() {
    cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.slot.kind != RequestKind::WatchOpen) {
        return friendly_reply(request);
      }
      std::vector<std::byte> payload;
      protocol::begin_watch_events(payload);
      protocol::append_watch_block(payload,
                                   passed_on(request.slot.has(RequestFlag::WatchPrevious)));
      FakeReply begun = progress(request.slot.request_id, 5);
      begun.then = {told(request.slot.request_id, payload)};
      return begun;
    });
  }

  std::vector<FakeRequest> opened(std::size_t count) const {
    return cluster_.wait_for(RequestKind::WatchOpen, count);
  }

  static bool asks(const FakeRequest& request) {
    return request.slot.has(RequestFlag::WatchPrevious);
  }

  void deny_all() {
    for (std::uint32_t node = 1; node <= 3; ++node) {
      cluster_.deny(NodeId{node}, protocol::Feature::WatchPrevious);
    }
  }
};

TEST_F(WatchPreviousTest, W2WhoAsksIsToldWhatWasHeldBefore) {
  Client client = connect();
  auto watch = client.watch({.name = "a", .waiters = true, .previous = true});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_TRUE(asks(opened(1)[0]));
  const auto batch = watch.value().next();
  ASSERT_TRUE(batch.ok());
  ASSERT_EQ(batch.value().events.size(), 3u);
  for (const std::size_t k : {0, 1}) {
    const PreviousHold& previous = batch.value().events[k].previous;
    EXPECT_EQ(previous.kind, PreviousKind::Hold);
    EXPECT_EQ(previous.token, 7u);
    EXPECT_EQ(previous.session_id, 5u);
    EXPECT_EQ(previous.value, "five");
  }
  EXPECT_EQ(batch.value().events[2].previous.kind, PreviousKind::Nothing);
}

TEST_F(WatchPreviousTest, W2WhoDoesNotAskIsNotTold) {
  Client client = connect();
  auto watch = client.watch({.name = "a"});
  ASSERT_TRUE(watch.ok());
  EXPECT_FALSE(asks(opened(1)[0]));
  EXPECT_EQ(watch.value().next().value().events[0].previous.kind, PreviousKind::Unknown);
}

TEST_F(WatchPreviousTest, W2ANodeThatCannotSayIsLeftForOneThatCan) {
  cluster_.deny(NodeId{1}, protocol::Feature::WatchPrevious);
  cluster_.deny(NodeId{3}, protocol::Feature::WatchPrevious);
  Client client = connect();
  auto watch = client.watch({.name = "a", .previous = true});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_TRUE(asks(opened(1)[0]));
  EXPECT_EQ(opened(1)[0].node, NodeId{2});
}

// Also by one that comes later, and then by all of the client's.
TEST_F(WatchPreviousTest, W2AllWatchesGoWhereOneOfThemIsTold) {
  const auto first_node = [this] {
    Client before = connect();
    EXPECT_TRUE(before.watch({.name = "a"}).ok());
    return opened(1)[0].node;
  }();
  cluster_.deny(first_node, protocol::Feature::WatchPrevious);
  Client client = connect();
  auto plain = client.watch({.name = "a"});
  ASSERT_TRUE(plain.ok());
  ASSERT_EQ(opened(2)[1].node, first_node) << "it begins at the same node";
  auto watch = client.watch({.name = "b", .previous = true});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const auto all = opened(4);
  EXPECT_FALSE(asks(all[2])) << "the plain one is there too";
  EXPECT_TRUE(asks(all[3]));
  EXPECT_NE(all[2].node, first_node);
  EXPECT_EQ(all[3].node, all[2].node);
}

// However many watches ask for it while one node is left: it was asked once.
TEST_F(WatchPreviousTest, W2ANodeThatSeveralWatchesLeaveCountsOnce) {
  cluster_.deny(NodeId{2}, protocol::Feature::WatchPrevious);  // Where seed 1 begins.
  cluster_.deny(NodeId{3}, protocol::Feature::WatchPrevious);
  const auto feed =
      std::make_shared<WatchFeed>(options(), WatchNodes{cluster_.endpoints(), options().seed});
  const auto state = [](bool previous, Watch::Callback callback) {
    return std::make_shared<WatchState>(WatchOptions{.name = "a", .previous = previous},
                                        std::move(callback));
  };
  std::vector<std::shared_ptr<WatchState>> states;
  // On the thread that serves them, so that nothing comes between.
  const auto plain = state(false, [&](const Result<WatchBatch>&) {
    while (states.size() < 4) {
      states.push_back(state(true, [](const Result<WatchBatch>&) {}));
      feed->add(states.back());
    }
  });
  feed->add(plain);
  feed->start();
  const auto all = opened(6);  // The plain one, and all five where four of them are told.
  EXPECT_EQ(all[0].node, NodeId{2});
  for (std::size_t k = 1; k < all.size(); ++k) {
    EXPECT_EQ(all[k].node, NodeId{1}) << k;
  }
  feed->stop();
}

TEST_F(WatchPreviousTest, W2WhereNoNodeCanSayItIsNotKnown) {
  deny_all();
  Client client = connect();
  auto watch = client.watch({.name = "a", .previous = true});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_FALSE(asks(opened(1)[0]));
  const auto batch = watch.value().next();
  ASSERT_TRUE(batch.ok());
  for (const WatchEvent& event : batch.value().events) {
    EXPECT_EQ(event.previous.kind, PreviousKind::Unknown);
    EXPECT_EQ(event.previous.token, 0u);
  }
  auto another = client.watch({.name = "b", .previous = true});
  ASSERT_TRUE(another.ok());
  EXPECT_EQ(opened(2)[1].node, opened(1)[0].node) << "all were asked before";
}

TEST(WatchPrevious, W4WhatWasHeldBeforeTakesItsRoomInTheQueue) {
  for (const bool noted : {false, true}) {
    WatchState state({.name = "a", .previous = true, .queue_bytes_max = 2048}, {});
    const auto accepts = [&](std::uint64_t revision) {
      protocol::WatchPrevious previous = kFive;
      previous.value = std::string(noted ? protocol::kNoteBytesMax : 0, 'n');
      return state.accept(
          {kShard,
           LogIndex{revision},
           {{WatchEventKind::Released, "a", FencingToken{7}, SessionId{5}, {}, previous}}});
    };
    bool all = true;
    for (std::uint64_t revision = 1; revision <= 4; ++revision) {
      all = accepts(revision) && all;
    }
    EXPECT_EQ(all, !noted);
  }
}

TEST(WatchPrevious, EachKindHasAName) {
  EXPECT_STREQ(previous_name(PreviousKind::Unknown), "unknown");
  EXPECT_STREQ(previous_name(PreviousKind::Nothing), "nothing");
  EXPECT_STREQ(previous_name(PreviousKind::Hold), "hold");
}

}  // namespace
}  // namespace gcoord::client
