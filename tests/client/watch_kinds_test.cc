// Watches of some kinds of events (W2): what nodes are asked for, and what the library leaves out
// where nodes are of a release that cannot.
#include "client/watches/watch_state.h"
#include "protocol/watch_messages.h"
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;
using protocol::WatchEventKind;
using std::chrono::milliseconds;

constexpr std::uint8_t kReleased = protocol::watch_kind_bit(WatchEventKind::Released);

protocol::WatchBlock block(std::uint32_t shard,
                           std::uint64_t revision,
                           const std::vector<WatchEventKind>& kinds) {
  protocol::WatchBlock made{ShardId{shard}, LogIndex{revision}, {}};
  for (const WatchEventKind kind : kinds) {
    made.events.push_back({kind, "a", FencingToken{revision}, SessionId{5}, {}});
  }
  return made;
}

class WatchKindsTest : public ClientTest {
 protected:
  // A grant, a change of hands, another grant.
  WatchKindsTest() {
    cluster_.answer_with(watches(
        [](std::uint64_t id) {
          std::vector<std::byte> payload;
          protocol::begin_watch_events(payload);
          protocol::append_watch_block(payload, block(3, 7, {WatchEventKind::Granted}));
          protocol::append_watch_block(
              payload, block(3, 8, {WatchEventKind::Released, WatchEventKind::Granted}));
          protocol::append_watch_block(payload, block(3, 9, {WatchEventKind::Granted}));
          return std::vector{told(id, payload)};
        },
        [](const FakeRequest& request) { return answer_to(request, 9); }));
  }

  void deny() {
    for (std::uint32_t node = 1; node <= 3; ++node) {
      cluster_.deny(NodeId{node}, protocol::Feature::WatchKinds);
    }
  }

  FakeRequest opened() const { return cluster_.requests(RequestKind::WatchOpen).at(0); }

  static protocol::WatchQuery query_of(const FakeRequest& request) {
    return protocol::decode_watch_query(protocol::bytes_of(request.payload)).value();
  }
};

TEST_F(WatchKindsTest, W2ANodeThatCanIsAskedForTheWantedKindsOnly) {
  Client client = connect();
  auto some = client.watch({.prefix = "", .kinds = {EventKind::Released, EventKind::Left}});
  ASSERT_TRUE(some.ok()) << some.status().to_string();
  EXPECT_EQ(query_of(opened()).kinds, kReleased | protocol::watch_kind_bit(WatchEventKind::Left));
  auto all = client.watch({.prefix = "", .waiters = true});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(query_of(cluster_.requests(RequestKind::WatchOpen).at(1)).kinds, 0);
}

TEST_F(WatchKindsTest, W2WhereTheNodeCannotTheLibraryLeavesTheOthersOut) {
  deny();
  Client client = connect();
  auto watch = client.watch({.prefix = "", .kinds = {EventKind::Released}});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  EXPECT_EQ(query_of(opened()).kinds, 0);
  EXPECT_FALSE(opened().slot.has(protocol::RequestFlag::WatchQueue));
  const auto batch = watch.value().next();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().revision, 8u);
  ASSERT_EQ(batch.value().events.size(), 1u);
  EXPECT_EQ(batch.value().events[0].kind, EventKind::Released);
  EXPECT_TRUE(watch.value().progress(std::chrono::minutes{1}).ok());
  EXPECT_FALSE(watch.value().next(milliseconds{0}).value());
  EXPECT_EQ(watch.value().revisions()[0].revision, 9u);
}

TEST_F(WatchKindsTest, W2WhoWantsToHearOfWaitersAsksANodeOfBeforeForThem) {
  deny();
  Client client = connect();
  auto watch = client.watch({.prefix = "", .kinds = {EventKind::Waiting}});
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(opened().slot.has(protocol::RequestFlag::WatchQueue));
}

TEST_F(WatchKindsTest, AKindThatThereIsNotIsRefused) {
  Client client = connect();
  for (const int kind : {0, 8, 255}) {
    EXPECT_EQ(
        client.watch({.prefix = "", .kinds = {static_cast<EventKind>(kind)}}).status().detail(),
        6204u);
  }
  EXPECT_TRUE(cluster_.requests(RequestKind::WatchOpen).empty());
}

// However many there are, what is left out takes no room beside what nobody has taken.
TEST(WatchKinds, W4WhatIsLeftOutTakesNoRoomInTheQueue) {
  const std::vector<WatchEventKind> taken{WatchEventKind::Released};
  WatchState state({.prefix = "", .kinds = {EventKind::Released}, .queue_bytes_max = 1}, {});
  EXPECT_TRUE(state.accept(block(1, 1, taken)));
  for (std::uint64_t revision = 2; revision < 1000; ++revision) {
    ASSERT_TRUE(state.accept(
        block(static_cast<std::uint32_t>(revision % 3), revision, {WatchEventKind::Granted})));
    state.note({.last = true, .revisions = {{ShardId{7}, LogIndex{revision}}}});
  }
  EXPECT_FALSE(state.accept(block(1, 1001, taken))) << "the queue is as full as it was";
  EXPECT_EQ(state.queue_items(), 2u) << "the batch, and the progress behind it";
  EXPECT_TRUE(state.revisions().empty());
}

TEST(WatchKinds, W2RevisionsRiseWithWhatIsLeftOutBehindWhatIsTaken) {
  WatchState state({.prefix = "", .kinds = {EventKind::Released}}, {});
  EXPECT_TRUE(state.accept(block(1, 4, {WatchEventKind::Granted})));
  ASSERT_EQ(state.revisions().size(), 1u);
  EXPECT_EQ(state.revisions()[0].revision, 4u) << "at once where nothing waits";
  EXPECT_TRUE(state.accept(block(1, 5, {WatchEventKind::Released})));
  EXPECT_TRUE(state.accept(block(1, 6, {WatchEventKind::Granted})));
  EXPECT_TRUE(state.accept(block(2, 9, {WatchEventKind::Granted})));
  EXPECT_TRUE(state.accept(block(1, 7, {WatchEventKind::Released})));
  EXPECT_TRUE(state.accept(block(1, 8, {WatchEventKind::Granted})));
  const auto places = [&state] {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> seen;
    for (const Revision& each : state.revisions()) {
      seen.push_back({each.shard, each.revision});
    }
    return seen;
  };
  using Places = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  EXPECT_EQ(state.take(milliseconds{0}).value()->revision, 5u);
  EXPECT_EQ(places(), (Places{{1, 6}, {2, 9}})) << "up to the next that is to be taken";
  EXPECT_EQ(state.take(milliseconds{0}).value()->revision, 7u);
  EXPECT_EQ(places(), (Places{{1, 8}, {2, 9}}));
}

}  // namespace
}  // namespace gcoord::client
