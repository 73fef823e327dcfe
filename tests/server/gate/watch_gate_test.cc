// Watches of clients with rights: judged when they are opened, at each event, and whenever rights
// change.
#include "server/gate/watch_gate.h"

#include "protocol/error_codes.h"
#include "tests/server/gate/fake_gate.h"
#include "tests/server/watch/watch_world.h"

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestFlag;
using protocol::WatchQuery;
using protocol::WatchTarget;
using security::PrincipalKind;
using security::Right;

constexpr std::uint64_t kAnn = 1;
constexpr std::uint32_t kShards = 4;

// A judge that never judges again: what a node would be that forgot to.
class OnceGate final : public WatchJudge {
 public:
  explicit OnceGate(RequestGate& gate) : gate_(gate) {}

  std::uint64_t epoch() const override { return 1; }

  WatchVerdict judge(protocol::ConnectionId connection, const WatchFilter& filter) override {
    return gate_.judge(connection, filter);
  }

  std::vector<std::byte> mask(protocol::ConnectionId, std::span<const std::byte> bytes) override {
    return {bytes.begin(), bytes.end()};
  }

  void on_ended() override {}

 private:
  WatchGate gate_;
};

class WatchGateTest : public testing::Test {
 protected:
  WatchGateTest() {
    clients_.principals[kAnn] = {PrincipalKind::User, "ann"};
    bench_.table.enabled = true;
    bench_.grant("ann", "jobs/", {Right::Watch});
  }

  void acquire(WatchNode& node, const std::string& name, std::uint64_t session) {
    const ShardId shard = shard_of(hash_name(name), kShards);
    append(logs_[shard.value],
           locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{++sequence_},
                                .acked_below = RequestSequence{sequence_},
                                .name = name,
                                .wait = true,
                                .ttl_ms = 1000}));
    node.apply(shard.value);
    node.settle();
  }

  static WatchQuery prefix(std::string text) {
    WatchQuery query;
    query.target = WatchTarget::Prefix;
    query.text = std::move(text);
    return query;
  }

  // What the client was told since it was last asked: names, or "GC" and the error's number.
  static std::vector<std::string> told(WatchNode& node) {
    std::vector<std::string> names;
    for (const auto& each : node.sink.sent[kAnn]) {
      if (each.slot.code != StatusCode::Ok) {
        names.push_back("GC" + std::to_string(each.slot.detail));
        continue;
      }
      const auto message = protocol::decode_watch_message(each.payload);
      for (const protocol::WatchBlock& block : message.value().blocks) {
        for (const protocol::WatchEvent& event : block.events) {
          names.push_back(event.name);
        }
      }
    }
    node.sink.sent[kAnn].clear();
    return names;
  }

  // Whether a watch of "jobs/" ends, and is told nothing more, when its right is gone.
  bool ends_after_revoke(WatchJudge& judge) {
    WatchNode node(logs_, {.judge = &judge});
    node.open(kAnn, 1, prefix("jobs/"));
    acquire(node, "jobs/1", 5);
    EXPECT_EQ(told(node), std::vector<std::string>{"jobs/1"});
    bench_.revoke("ann");
    acquire(node, "jobs/2", 5);
    return told(node) == std::vector<std::string>{"GC6560"} && node.desk().watch_count() == 0;
  }

  NamedClients clients_;
  FakeGate bench_{clients_};
  WatchGate gate_{bench_.gate};
  std::vector<ShardLog> logs_{kShards};
  std::uint64_t sequence_ = 0;
};

TEST_F(WatchGateTest, AWatchEndsWhenItsRightIsGone) {
  EXPECT_TRUE(ends_after_revoke(gate_));
  EXPECT_EQ(bench_.metrics.counter({"gcoord_server_watches_not_allowed_total", "", "", ""}).value(),
            1u);
}

TEST_F(WatchGateTest, AJudgeThatNeverJudgesAgainIsFound) {
  OnceGate once(bench_.gate);
  EXPECT_FALSE(ends_after_revoke(once));
}

// Nothing need happen for it.
TEST_F(WatchGateTest, ASilentWatchEndsToo) {
  WatchNode node(logs_, {.judge = &gate_});
  node.open(kAnn, 1, prefix("jobs/"));
  node.settle();
  told(node);
  bench_.revoke("ann");
  node.turn();
  EXPECT_EQ(told(node), std::vector<std::string>{"GC6560"});
}

TEST_F(WatchGateTest, TheEndNamesTheRightThatIsMissing) {
  WatchNode node(logs_, {.judge = &gate_});
  node.open(kAnn, 1, prefix("jobs/"));
  node.settle();
  told(node);
  bench_.revoke("ann");
  node.turn();
  ASSERT_FALSE(node.sink.sent[kAnn].empty());
  const auto& payload = node.sink.sent[kAnn].back().payload;
  const std::string why{reinterpret_cast<const char*>(payload.data()), payload.size()};
  EXPECT_EQ(why, "user ann has no right watch over all names below \"jobs/\"");
}

TEST_F(WatchGateTest, ARightThatGoesAndComesAgainDoesNotHideAGap) {
  WatchNode node(logs_, {.judge = &gate_});
  node.open(kAnn, 1, prefix("jobs/"));
  node.settle();
  told(node);
  WatchFilter filter;
  filter.target = WatchTarget::Prefix;
  filter.text = "jobs/";
  Watch watch;
  WatchTargetState target;
  target.filter = filter;
  watch.target = &target;
  watch.connection = protocol::ConnectionId{kAnn};
  EXPECT_TRUE(judged(watch, gate_).allowed);
  bench_.revoke("ann");
  EXPECT_FALSE(judged(watch, gate_).allowed);
  bench_.grant("ann", "jobs/", {Right::Watch});
  EXPECT_FALSE(judged(watch, gate_).allowed);
}

TEST_F(WatchGateTest, AWatchOfASessionIsToldOfNamesThatItsClientMayWatch) {
  security::Role& role = bench_.table.roles["ann"];
  role.grants.push_back({.prefix = "", .exact = false, .rights = bit_of(Right::SessionOwn)});
  ++bench_.table.epoch;
  bench_.own.emplace(kAnn, 5);
  WatchNode node(logs_, {.judge = &gate_});
  WatchQuery query;
  query.target = WatchTarget::Session;
  query.session = SessionId{5};
  node.open(kAnn, 1, query);
  acquire(node, "jobs/1", 5);
  acquire(node, "payroll/1", 5);
  acquire(node, "jobs/2", 5);
  EXPECT_EQ(told(node), (std::vector<std::string>{"jobs/1", "jobs/2"}));
}

TEST_F(WatchGateTest, HistoryIsForThoseWhoMayReadIt) {
  WatchNode node(logs_, {.judge = &gate_});
  const std::string name = "jobs/1";
  const ShardId shard = shard_of(hash_name(name), kShards);
  acquire(node, name, 5);  // Before anything was recorded.
  WatchQuery query;
  query.text = name;
  query.from = {{shard, LogIndex{1}}};
  node.open(kAnn, 1, query);
  node.settle();
  EXPECT_EQ(
      told(node),
      std::vector<std::string>{"GC" + std::to_string(static_cast<int>(ErrorCode::WatchCompacted))});
  bench_.grant("ann", "jobs/", {Right::Watch, Right::LockHistory});
  node.open(kAnn, 2, query);
  node.settle();
  EXPECT_EQ(told(node), std::vector<std::string>{name});
}

TEST_F(WatchGateTest, ManyWatchesAreJudgedASliceAtATime) {
  constexpr std::uint64_t kWatches = 5'000;
  WatchNode node(logs_, {.judge = &gate_});
  for (std::uint64_t id = 1; id <= kWatches; ++id) {
    node.open(kAnn, id, prefix("jobs/"));
  }
  node.settle();
  told(node);
  bench_.revoke("ann");
  node.turn();
  EXPECT_GT(node.desk().watch_count(), 0u);
  node.settle();
  EXPECT_EQ(node.desk().watch_count(), 0u);
  EXPECT_EQ(told(node).size(), kWatches);
}

}  // namespace
}  // namespace gcoord::server
