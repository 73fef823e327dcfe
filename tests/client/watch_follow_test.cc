// Watches of names at nodes that follow moved locks and at nodes that do not (L19, ADR 0055): what
// is asked for, and where a watch goes on that has followed its lock.
#include "client/watches/watch_state.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/watch_messages.h"
#include "tests/client/client_fixture.h"

#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

constexpr std::uint32_t kShards = 16;  // Of the fixture's cluster.

class WatchFollowTest : public ClientTest {
 protected:
  // Every watch is told that the lock has come to another shard than its name's.
  WatchFollowTest() {
    cluster_.answer_with([](const FakeRequest& request) {
      FakeReply reply = friendly_reply(request);
      if (request.slot.kind == RequestKind::WatchOpen) {
        const protocol::WatchProgressPart part{.last = true, .revisions = {{kAway, LogIndex{5}}}};
        reply.payload = protocol::text_of(protocol::encode_watch_progress(part));
      }
      return reply;
    });
  }

  struct Opened {
    NodeId node;
    bool follows = false;
    protocol::WatchQuery query;
  };

  bool arrived(std::size_t count) const {
    return cluster_.requests(RequestKind::WatchOpen).size() >= count;
  }

  // The watches that were opened so far, `count` of them at least.
  std::vector<Opened> opened(std::size_t count) {
    // An end for a test that fails. Attempts come with pauses, of the test's clock.
    for (int round = 0; round < 10'000'000 && !arrived(count); ++round) {
      clock_->advance(TimePoint{std::chrono::milliseconds{1}});
      std::this_thread::yield();
    }
    std::vector<Opened> all;
    for (const FakeRequest& each : cluster_.wait_for(RequestKind::WatchOpen, count)) {
      const auto query = protocol::decode_watch_query(std::as_bytes(std::span{each.payload}));
      EXPECT_TRUE(query.ok());
      all.push_back({each.node, each.slot.has(protocol::RequestFlag::WatchFollow), query.value()});
    }
    return all;
  }

  static constexpr const char* kName = "name";
  static inline const ShardId kAway{(shard_of(hash_name(kName), kShards).value + 1) % kShards};
};

TEST_F(WatchFollowTest, L19AWatchGoesOnWhereItsLockIsAtANodeThatFollows) {
  Client client = connect();
  auto watch = client.watch({.name = kName});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const Opened first = opened(1)[0];
  EXPECT_TRUE(first.follows);
  EXPECT_TRUE(first.query.from.empty());
  const NodeId rigid{first.node.value % 3 + 1};
  cluster_.deny(rigid, protocol::Feature::WatchFollow);
  cluster_.stop_node(first.node);
  const Opened second = opened(2)[1];
  EXPECT_TRUE(second.follows);
  EXPECT_NE(second.node, rigid);
  EXPECT_EQ(second.query.from, (std::vector{protocol::ShardRevision{kAway, LogIndex{6}}}));
}

TEST_F(WatchFollowTest, L19WhereNoNodeFollowsTheWatchIsAPlainOne) {
  Client client = connect();
  auto watch = client.watch({.name = kName});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const Opened first = opened(1)[0];
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.deny(NodeId{node}, protocol::Feature::WatchFollow);
  }
  cluster_.stop_node(first.node);
  const Opened second = opened(2)[1];
  EXPECT_FALSE(second.follows);
  EXPECT_TRUE(second.query.from.empty());
}

TEST_F(WatchFollowTest, L19OnlyWatchesOfNamesFollow) {
  Client client = connect();
  auto watch = client.watch({.prefix = kName, .from = {{kAway.value, 3}, {0, 4}}});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const Opened first = opened(1)[0];
  EXPECT_FALSE(first.follows);
  EXPECT_EQ(first.query.from.size(), 2u);
}

protocol::WatchBlock block(std::uint32_t shard, std::uint64_t revision) {
  return {
      ShardId{shard}, LogIndex{revision}, {{protocol::WatchEventKind::Granted, "a", {}, {}, {}}}};
}

TEST(WatchState, L19OfANameOnlyTheNewestPlaceIsKept) {
  WatchState state({.name = "a"}, {});
  EXPECT_TRUE(state.accept(block(3, 7)));
  EXPECT_TRUE(state.accept(block(5, 2)));
  EXPECT_TRUE(state.accept(block(5, 2)));
  EXPECT_EQ(state.queued_to(), (std::map<std::uint32_t, std::uint64_t>{{5, 2}}));
  state.note({.last = true, .revisions = {{ShardId{3}, LogIndex{9}}}});
  EXPECT_EQ(state.queued_to(), (std::map<std::uint32_t, std::uint64_t>{{3, 9}}));
  EXPECT_EQ(state.take(std::chrono::milliseconds{0}).value()->revision, 7u);
  ASSERT_EQ(state.revisions().size(), 1u);
  EXPECT_EQ(state.revisions()[0].revision, 7u);
  EXPECT_EQ(state.take(std::chrono::milliseconds{0}).value()->revision, 2u);
  ASSERT_EQ(state.revisions().size(), 1u);
  EXPECT_EQ(state.revisions()[0].revision, 9u) << "with the progress behind it";
}

TEST(WatchState, OfAPrefixThePlacesOfAllShardsAreKept) {
  WatchState state({.prefix = ""}, {});
  EXPECT_TRUE(state.accept(block(3, 7)));
  EXPECT_TRUE(state.accept(block(5, 2)));
  EXPECT_EQ(state.queued_to().size(), 2u);
}

}  // namespace
}  // namespace gcoord::client
