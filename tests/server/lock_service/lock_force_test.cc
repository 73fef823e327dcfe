// Breaks by force and lock-delays, as the service of a node carries them out.
#include "protocol/force_messages.h"
#include "protocol/session_messages.h"
#include "server/history/record_text.h"
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

std::uint64_t ask_break(LockBench& bench, std::string_view name, std::uint64_t token, bool all) {
  protocol::RequestSlot slot = bench.slot(RequestKind::LockBreak);
  slot.shard = LockBench::shard_of_name(name).value;
  slot.token = token;
  return bench.send(
      slot,
      protocol::encode_break({.all = all, .name = name, .who = "ann@ops", .reason = "it hangs"}));
}

void keep_alive(LockBench& bench, std::uint64_t session) {
  const std::vector<SessionId> sessions{SessionId{session}};
  bench.sink.take(
      bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions)));
}

TEST(LockForceTest, L15TheNextWaiterIsAnsweredAndTheFormerHolderHearsOfIt) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto waiting = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  const auto broken = bench.decided(ask_break(bench, "a", held.slot.token, true));
  EXPECT_EQ(broken.slot.code, StatusCode::Ok);
  EXPECT_EQ(broken.slot.token, held.slot.token);
  EXPECT_EQ(broken.slot.extra, 5u);
  EXPECT_GT(bench.sink.take(waiting).slot.token, held.slot.token);

  protocol::RequestSlot alive = bench.slot(RequestKind::KeepAlive);
  alive.set(protocol::RequestFlag::TellBroken);
  const std::vector<SessionId> sessions{SessionId{5}};
  const auto told = protocol::decode_keep_alive_reply(
      bench.sink.take(bench.send(alive, protocol::encode_keep_alive(sessions))).payload);
  ASSERT_TRUE(told.ok());
  ASSERT_EQ(told.value().size(), 1u);
  EXPECT_EQ(told.value()[0].state, protocol::KeepAliveState::Broken);

  protocol::RequestSlot ask = bench.slot(RequestKind::SessionLosses);
  ask.session = 5;
  const auto losses = protocol::decode_losses(bench.sink.take(bench.send(ask, "")).payload);
  ASSERT_TRUE(losses.ok());
  ASSERT_EQ(losses.value().size(), 1u);
  EXPECT_EQ(losses.value()[0].name, "a");
  EXPECT_EQ(losses.value()[0].token.value, held.slot.token);

  protocol::RequestSlot check = bench.slot(RequestKind::LockCheck);
  check.token = held.slot.token;
  check.set(protocol::RequestFlag::TellBroken);
  const auto checked = bench.send(check, "a");
  bench.engine.confirm_reads(*bench.service);
  EXPECT_EQ(bench.sink.take(checked).slot.detail, number(ErrorCode::HoldBroken));

  protocol::RequestSlot release = protocol::to_slot(
      protocol::LockRelease{.caller = {SessionId{5}, RequestSequence{2}, RequestSequence{1}},
                            .token = FencingToken{held.slot.token}});
  release.shard = LockBench::shard_of_name("a").value;
  release.set(protocol::RequestFlag::TellBroken);
  EXPECT_EQ(bench.decided(bench.send(release, "a")).slot.detail, number(ErrorCode::HoldBroken));
}

// A client of before sends no flag, and would not know the number.
TEST(LockForceTest, L15WhoDoesNotKnowOfBrokenHoldsLearnsThatThereIsNone) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.decided(ask_break(bench, "a", held.slot.token, false));
  const std::vector<SessionId> sessions{SessionId{5}};
  const auto alive = bench.sink.take(
      bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions)));
  EXPECT_TRUE(protocol::decode_keep_alive_reply(alive.payload).value().empty());
  protocol::RequestSlot check = bench.slot(RequestKind::LockCheck);
  check.token = held.slot.token;
  const auto checked = bench.send(check, "a");
  bench.engine.confirm_reads(*bench.service);
  EXPECT_EQ(bench.sink.take(checked).slot.extra,
            static_cast<std::uint64_t>(protocol::CheckVerdict::Free));
  EXPECT_EQ(bench.decided(bench.release(5, 2, "a", held.slot.token)).slot.detail,
            number(ErrorCode::LockNotHeld));
}

TEST(LockForceTest, L15TheLogEntryNamesWhoBrokeTheLockAndWhy) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  ask_break(bench, "a", held.slot.token, false);
  ASSERT_EQ(bench.engine.proposals.size(), 1u);
  const RecordFacts facts = record_facts(bench.engine.proposals.front().command);
  const auto says = [&facts](const std::string& name, const std::string& text) {
    return std::ranges::find(facts, std::pair{name, text}) != facts.end();
  };
  EXPECT_TRUE(says("kind", "break_lock"));
  EXPECT_TRUE(says("name", "a"));
  EXPECT_TRUE(says("by", "ann@ops"));
  EXPECT_TRUE(says("reason", "it hangs"));
}

TEST(LockForceTest, L15AnotherTokenIsRefusedAndSoIsWhoDoesNotSayWhy) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto stale = bench.decided(ask_break(bench, "a", held.slot.token + 1, false));
  EXPECT_EQ(stale.slot.detail, number(ErrorCode::TokenStale));
  EXPECT_EQ(bench.decided(ask_break(bench, "b", 7, true)).slot.detail,
            number(ErrorCode::LockNotHeld));
  protocol::RequestSlot slot = bench.slot(RequestKind::LockBreak);
  slot.token = held.slot.token;
  const auto silent =
      bench.send(slot, protocol::encode_break({.name = "a", .who = "ann", .reason = ""}));
  EXPECT_EQ(bench.sink.take(silent).slot.detail, number(ErrorCode::BreakUnexplained));
  bench.engine.holds = false;
  EXPECT_EQ(bench.sink.take(ask_break(bench, "a", held.slot.token, false)).slot.detail,
            number(ErrorCode::BreakUnsupported));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

// Two nodes that apply the same log; `leader` proposes.
class LockDelayTest : public testing::Test {
 protected:
  LockDelayTest() {
    first_.lead_all();
    second_.engine.other_leader = NodeId{1};
  }

  // What one node proposed is decided on both.
  void decide(LockBench& leader, LockBench& follower) {
    for (const FakeEngine::Proposal& proposal : leader.engine.proposals) {
      FakeEngine::Proposal copy = proposal;
      copy.cookie = 0;
      follower.engine.proposals.push_back(copy);
    }
    leader.decide();
    follower.decide();
  }

  // A lock with a delay of 500 ms whose holder, of 200 ms TTL, fails on both nodes.
  void fail_holder() {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{5}, RequestSequence{1}, RequestSequence{1}};
    acquire.ttl_ms = 200;
    protocol::RequestSlot slot = protocol::to_hold_slot(acquire);
    slot.shard = shard_.value;
    const auto id = first_.send(slot, protocol::encode_hold({.delay_ms = 500, .name = "a"}));
    decide(first_, second_);
    ASSERT_EQ(first_.sink.take(id).slot.code, StatusCode::Ok);
    while (first_.engine.proposals.empty()) {
      pass_ms(10);
    }
    decide(first_, second_);
    ASSERT_EQ(first_.service->locks().delays().size(), 1u);
    failed_us_ = first_.now_us;
  }

  void pass_ms(std::uint64_t ms) {
    first_.pass_ms(ms);
    second_.pass_ms(ms);
  }

  // Passes time until the node proposes something; how long after the failure that was.
  std::uint64_t proposed_after_ms(LockBench& node) {
    while (node.engine.proposals.empty() && node.now_us < failed_us_ + 60'000'000) {
      pass_ms(10);
    }
    return (node.now_us - failed_us_) / 1000;
  }

  LockBench first_;
  LockBench second_;
  ShardId shard_ = LockBench::shard_of_name("a");
  std::uint64_t failed_us_ = 0;
};

TEST_F(LockDelayTest, L14TheLeaderEndsADelayWhenItIsOverAndNotBefore) {
  fail_holder();
  const auto waiting = first_.acquire(6, 1, "a", protocol::kForeverMs, 60'000);
  const auto trying = first_.acquire(7, 1, "a", 0, 60'000);
  decide(first_, second_);
  EXPECT_EQ(first_.sink.take(trying).slot.detail, number(ErrorCode::LockDelayed));
  const std::uint64_t after = proposed_after_ms(first_);
  EXPECT_GE(after, 500u);
  EXPECT_LE(after, 520u);
  EXPECT_TRUE(first_.sink.replies.empty());
  decide(first_, second_);
  EXPECT_EQ(first_.sink.take(waiting).slot.code, StatusCode::Ok);
  EXPECT_EQ(first_.service->locks().delays().size(), 0u);
  EXPECT_EQ(second_.service->locks().delays().size(), 0u);
}

TEST_F(LockDelayTest, L14ANewLeaderGoesOnWithTheDelayAndCutsNothingShort) {
  fail_holder();
  pass_ms(300);
  first_.engine.follow(*first_.service, shard_, NodeId{2});
  pass_ms(100);  // Nobody leads.
  second_.engine.lead(*second_.service, shard_);
  const std::uint64_t after = proposed_after_ms(second_);
  EXPECT_GE(after, 500u);
  EXPECT_LE(after, 500u + 20u + 100u) << "at most one election more";
  EXPECT_TRUE(first_.engine.proposals.empty());
}

TEST_F(LockDelayTest, L14NothingEndsWithoutALeaseOrWhenTheLogRefusedIt) {
  fail_holder();
  first_.engine.lease = false;
  for (int i = 0; i < 100; ++i) {
    pass_ms(10);
  }
  EXPECT_TRUE(first_.engine.proposals.empty());
  first_.engine.lease = true;
  pass_ms(20);
  ASSERT_EQ(first_.engine.proposals.size(), 1u);
  first_.engine.refuse(*first_.service, Status{StatusCode::ResourceExhausted, "full"}, NodeId{});
  pass_ms(20);
  EXPECT_EQ(first_.engine.proposals.size(), 1u);
}

// The device would judge the same command the same way in each tick.
TEST_F(LockDelayTest, L14AnEndThatTheDeviceFindsUnsoundIsProposedAgainAfterAPause) {
  fail_holder();
  pass_ms(20);
  while (first_.engine.proposals.empty()) {
    pass_ms(20);
  }
  const Status unsound{StatusCode::Internal, "unsound", number(ErrorCode::DeviceRefused)};
  first_.engine.refuse(*first_.service, unsound, NodeId{});
  for (int ms = 0; ms < 4'500; ms += 20) {
    pass_ms(20);
    ASSERT_TRUE(first_.engine.proposals.empty()) << ms;
  }
  pass_ms(1'000);
  EXPECT_EQ(first_.engine.proposals.size(), 1u);
}

TEST_F(LockDelayTest, L14AStalledLeaderEndsNothingEarly) {
  fail_holder();
  pass_ms(100);
  first_.now_us += 300'000;  // It stands still.
  first_.service->set_time(first_.now_us);
  first_.service->on_loop_gap(30);
  const std::uint64_t after = proposed_after_ms(first_);
  EXPECT_GE(after, 500u);
}

TEST_F(LockDelayTest, L14TheFailedSessionIsToldAndACloseAfterwardsEndsNoDelay) {
  fail_holder();
  const std::vector<SessionId> sessions{SessionId{5}};
  const auto id =
      first_.send(first_.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions));
  const auto entries = protocol::decode_keep_alive_reply(first_.sink.take(id).payload);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries.value()[0].state, protocol::KeepAliveState::Expired);
  protocol::RequestSlot close = first_.slot(RequestKind::CloseSession);
  close.session = 5;
  close.shard = protocol::kAllShards;
  EXPECT_EQ(first_.decided(first_.send(close, "")).slot.code, StatusCode::Ok);
  EXPECT_EQ(first_.decided(first_.acquire(7, 1, "a", 0, 60'000)).slot.detail,
            number(ErrorCode::LockDelayed));
}

TEST(LockForceTest, L14DelaysHaveABoundAndAreOfHoldsAlone) {
  LockBench bench;
  bench.lead_all();
  const auto long_id = bench.acquire_hold(5, 1, {.delay_ms = 60'001, .name = "a"});
  EXPECT_EQ(bench.sink.take(long_id).slot.detail, number(ErrorCode::DelayTooLong));
  const auto shared =
      bench.acquire_hold(5, 1, {.flags = 2, .permits = 1, .delay_ms = 1, .name = "a"});
  EXPECT_EQ(bench.sink.take(shared).slot.detail, number(ErrorCode::HoldInvalid));
  EXPECT_EQ(bench.decided(bench.acquire_hold(5, 1, {.delay_ms = 60'000, .name = "a"})).slot.code,
            StatusCode::Ok);
  keep_alive(bench, 5);
}

}  // namespace
}  // namespace gcoord::server
