// Entries whose doings the lock tables have already when the service is told of them, as on a
// resident node whose lanes threads follow: it answers by what they did, in the order of the log.
#include "protocol/groups/messages.h"
#include "server/interfaces/lock_command.h"
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

struct AheadBench : LockBench {
  AheadBench() {
    LockServiceOptions options;
    options.node = NodeId{1};
    options.nodes = {NodeId{1}};
    options.election_ticks = 10;
    options.limits = {4, 100, 60'000};
    options.part_shards = 2;
    service = std::make_unique<LockService>(options, sink, own_metrics);
    router = std::make_unique<RequestRouter>(RequestOwners{.service = *service});
    service->set_time(1'000'000);
    service->start(engine, Incarnation{7}, reports);
    lead_all();
  }

  struct Ahead {
    FakeEngine::Proposal proposal;
    LogIndex index;
    locks::LockReply reply;
    std::vector<locks::LockEvent> events;
    std::uint64_t state_hash = 0;
  };

  // The tables have everything that was proposed.
  void go_ahead() {
    std::deque<FakeEngine::Proposal> taken;
    taken.swap(engine.proposals);
    for (FakeEngine::Proposal& proposal : taken) {
      Ahead each{.proposal = std::move(proposal)};
      const ShardId shard = each.proposal.shard;
      each.index = LogIndex{++engine.index[shard.value]};
      std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
      locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
      each.reply = service->locks().apply_bytes(
          shard, each.index, record_body(each.proposal.command), Tick{1}, events);
      each.events.assign(room.begin(), room.begin() + events.count);
      each.state_hash = service->locks().state_hash(shard);
      ahead.push_back(std::move(each));
    }
  }

  // The service is told of the oldest of it.
  void tell() {
    const Ahead next = std::move(ahead.front());
    ahead.pop_front();
    const AppliedOutcome outcome{next.reply, next.events, next.state_hash};
    AppliedEntry entry;
    entry.shard = next.proposal.shard;
    entry.index = next.index;
    entry.term = engine.term;
    entry.payload = next.proposal.command;
    entry.outcome = &outcome;
    entry.cookie = next.proposal.cookie;
    entry.leader = true;
    engine.told[entry.shard.value] = entry.index.value;
    service->apply(entry);
  }

  void tell_all() {
    while (!ahead.empty()) {
      tell();
    }
  }

  bool has_reply(std::uint64_t request) const {
    return std::ranges::any_of(
        sink.replies, [&](const KeptReply& each) { return each.slot.request_id == request; });
  }

  MetricsRegistry own_metrics;
  std::deque<Ahead> ahead;
};

TEST(TablesAhead, EachIsAnsweredByWhatItsOwnEntryDid) {
  AheadBench bench;
  const auto first = bench.acquire(5, 1, "a");
  const auto waits = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.go_ahead();
  const auto token = bench.ahead.front().reply.token;
  bench.release(5, 2, "a", token.value);
  bench.go_ahead();
  // The tables say that the second one holds it; nobody was told of anything.
  EXPECT_EQ(bench.service->locks().get(LockBench::shard_of_name("a"), hash_name("a"))->holder,
            SessionId{6});
  EXPECT_TRUE(bench.sink.replies.empty());
  bench.tell();
  EXPECT_EQ(bench.sink.take(first).slot.token, token.value);
  bench.tell();
  EXPECT_FALSE(bench.has_reply(waits));
  EXPECT_EQ(bench.service->wait_count(), 1u);
  bench.tell();
  EXPECT_EQ(bench.sink.take(waits).slot.token, token.value + 1);
  EXPECT_EQ(bench.service->wait_count(), 0u);
}

TEST(TablesAhead, AnEntryIsNotAppliedTwice) {
  AheadBench bench;
  const ShardId shard = LockBench::shard_of_name("a");
  bench.acquire(5, 1, "a");
  bench.go_ahead();
  const std::uint64_t hash = bench.service->locks().state_hash(shard);
  bench.tell_all();
  EXPECT_EQ(bench.service->locks().state_hash(shard), hash);
  EXPECT_EQ(bench.service->locks().counts().locks, 1u);
}

// Binding it at once would have the older request take its place afterwards, and end the newer one.
TEST(TablesAhead, AWaitThatIsAskedForAgainGoesThroughTheLogWhileItsShardIsAhead) {
  AheadBench bench;
  const auto held = bench.acquire(5, 1, "a");
  bench.go_ahead();
  bench.tell_all();
  const auto token = bench.sink.take(held).slot.token;
  const auto old = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.go_ahead();
  bench.connection = 2;
  const auto retried = bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_EQ(bench.engine.proposals.size(), 1u);
  bench.go_ahead();
  bench.tell_all();
  EXPECT_EQ(bench.sink.take(old).slot.detail,
            static_cast<std::uint32_t>(ErrorCode::SequenceReused));
  bench.release(5, 2, "a", token);
  bench.go_ahead();
  bench.tell_all();
  EXPECT_EQ(bench.sink.take(retried).connection, protocol::ConnectionId{2});
  // Where nothing is ahead it is bound at once, as ever.
  bench.acquire(7, 1, "a", protocol::kForeverMs);
  bench.go_ahead();
  bench.tell_all();
  bench.acquire(7, 1, "a", protocol::kForeverMs);
  EXPECT_TRUE(bench.engine.proposals.empty());
}

TEST(TablesAhead, TheStateHashIsThatOfTheEntryThatWasTold) {
  AheadBench bench;
  const ShardId shard = LockBench::shard_of_name("a");
  bench.acquire(5, 1, "a");
  bench.go_ahead();
  bench.tell_all();
  const std::uint64_t told = bench.service->state_hash(shard);
  EXPECT_NE(told, 0u);
  bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.go_ahead();
  EXPECT_EQ(bench.service->state_hash(shard), told);
  EXPECT_NE(bench.service->locks().state_hash(shard), told);
  bench.tell_all();
  EXPECT_EQ(bench.service->state_hash(shard), bench.service->locks().state_hash(shard));
}

// What a group's last command changed was said once, when it was applied.
TEST(TablesAhead, CommandsOfLocksSayNothingOfGroupsAgain) {
  constexpr std::string_view kGroup = "workers";
  AheadBench bench;
  protocol::RequestSlot join = bench.slot(protocol::RequestKind::GroupJoin);
  join.session = 5;
  join.sequence = 1;
  join.acked_below = 1;
  join.ttl_ms = 1000;
  join.shard = LockBench::shard_of_name(kGroup).value;
  bench.decided(bench.send(join, protocol::encode_group_join({kGroup, "m", "at m"})));
  protocol::RequestSlot look = bench.slot(protocol::RequestKind::GroupGet);
  look.ttl_ms = 1000;
  look.shard = join.shard;
  look.deadline_ms = 10'000;
  look.set(protocol::RequestFlag::Wait);
  const auto waits = bench.send(look, protocol::encode_group_query({2, 1, kGroup}));
  bench.engine.confirm_reads(*bench.service);
  ASSERT_FALSE(bench.has_reply(waits));
  const auto held = bench.acquire(6, 1, "a");
  bench.go_ahead();
  bench.tell_all();
  EXPECT_TRUE(bench.has_reply(held));
  EXPECT_FALSE(bench.has_reply(waits));
}

// Else whoever waits for the next change would be told of the last one by each lock that is taken.
TEST(TablesAhead, WhatAnEntryDidToAGroupIsToldOnce) {
  constexpr std::string_view kGroup = "workers";
  AheadBench bench;
  const auto send = [&](protocol::RequestKind kind, std::uint64_t session, auto payload) {
    protocol::RequestSlot slot = bench.slot(kind);
    slot.session = session;
    slot.sequence = slot.acked_below = session == 0 ? 0 : 1;
    slot.ttl_ms = 1000;
    slot.shard = LockBench::shard_of_name(kGroup).value;
    return bench.send(slot, payload);
  };
  send(protocol::RequestKind::GroupJoin, 5, protocol::encode_group_join({kGroup, "a", ""}));
  bench.decide();
  const Counter& views = bench.own_metrics.counter({"gcoord_server_group_views_total", "", "", ""});
  EXPECT_EQ(views.value(), 1u);
  bench.acquire(6, 1, "a");
  bench.go_ahead();
  bench.tell_all();
  EXPECT_EQ(views.value(), 1u);
}

TEST(TablesAhead, FiguresOfTheTablesAreShownByThePass) {
  AheadBench bench;
  const Gauge& locks = bench.own_metrics.gauge({"gcoord_server_locks", "", "", ""});
  bench.acquire(5, 1, "a");
  bench.go_ahead();
  bench.tell_all();
  bench.service->on_tick();
  EXPECT_EQ(locks.value(), 1);
}

class Observer final : public ApplyObserver {
 public:
  void before(const locks::LockCpu&, ShardId, const locks::LockCommand&) override { ++seen; }

  void after(const locks::LockCpu&,
             ShardId,
             const locks::LockCommand&,
             const locks::LockReply&,
             std::span<const locks::LockEvent>) override {}

  void on_entry(ShardId, LogIndex) override {}

  void on_installed(ShardId) override {}

  bool on_peer_message(NodeId, std::span<const std::byte>) override { return false; }

  void look(bool on) { set_on(on); }

  int seen = 0;
};

TEST(TablesAhead, TheLogIsToldWhoObservesAndWhatWasAheadBeforeIsNotObserved) {
  AheadBench bench;
  Observer observer;
  bench.service->set_tap(&observer);
  bench.acquire(5, 1, "a");
  bench.go_ahead();
  observer.look(true);
  EXPECT_EQ(bench.engine.observed, std::vector<bool>{true});
  // Watches begin behind it: it is what they are said to be at.
  const ShardId shard = LockBench::shard_of_name("a");
  EXPECT_EQ(bench.service->locks().view(shard).applied(shard), bench.ahead.front().index);
  bench.tell_all();
  EXPECT_EQ(observer.seen, 0);
  bench.acquire(6, 1, "b");
  bench.decide();
  EXPECT_EQ(observer.seen, 1);
  observer.look(false);
  EXPECT_EQ(bench.engine.observed, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace gcoord::server
