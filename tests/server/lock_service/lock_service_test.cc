// The lock service over an engine that decides when the test says so.
#include "server/lock_service/lock_service.h"

#include "protocol/session_messages.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

TEST(LockServiceTest, GrantIsAnsweredOnlyWhenTheLogDecided) {
  LockBench bench;
  bench.lead_all();
  const auto id = bench.acquire(5, 1, "a");
  EXPECT_TRUE(bench.sink.replies.empty());
  const KeptReply reply = bench.decided(id);
  EXPECT_EQ(reply.slot.code, StatusCode::Ok);
  EXPECT_NE(reply.slot.token, 0u);
  EXPECT_EQ(reply.slot.epoch, bench.engine.term.value);
  EXPECT_GT(reply.slot.ttl_ms, 900u);
  EXPECT_LE(reply.slot.ttl_ms, 1000u);
  EXPECT_EQ(reply.connection, protocol::ConnectionId{1});
}

TEST(LockServiceTest, ALowDiskRefusesWhatMakesTheLogGrowAndTakesWhatGivesBack) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto waits = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.disk_is_low = true;
  const auto refused = [&bench](std::uint64_t request) {
    EXPECT_TRUE(bench.engine.proposals.empty());
    EXPECT_EQ(bench.sink.take(request).slot.detail, number(ErrorCode::DiskLow));
  };
  refused(bench.acquire(5, 2, "b"));
  refused(bench.acquire(7, 1, "a", protocol::kForeverMs));  // A place in a queue.
  protocol::RequestSlot open = bench.slot(RequestKind::OpenSession);
  open.ttl_ms = 1000;
  refused(bench.send(open, ""));
  // The same request again is answered as before: it was decided, or stands in the queue.
  const auto again = bench.decided(bench.acquire(5, 1, "a"));
  EXPECT_EQ(again.slot.token, held.slot.token);
  const auto rebound = bench.acquire(6, 1, "a", protocol::kForeverMs);
  const auto released = bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(released.slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.take(rebound).slot.code, StatusCode::Ok);
  static_cast<void>(waits);
  bench.disk_is_low = false;
  EXPECT_EQ(bench.decided(bench.acquire(5, 3, "b")).slot.code, StatusCode::Ok);
}

TEST(LockServiceTest, OtherNodesNameTheLeader) {
  LockBench bench;
  bench.engine.other_leader = NodeId{3};
  const KeptReply hinted = bench.sink.take(bench.acquire(5, 1, "a"));
  EXPECT_EQ(hinted.slot.detail, number(ErrorCode::NotLeader));
  EXPECT_EQ(hinted.slot.leader, 3u);
  bench.engine.other_leader = NodeId{};
  const KeptReply lost = bench.sink.take(bench.acquire(5, 1, "a"));
  EXPECT_EQ(lost.slot.detail, number(ErrorCode::NoLeader));
}

TEST(LockServiceTest, BusyTellsHolderAndToken) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto busy = bench.decided(bench.acquire(6, 1, "a"));
  EXPECT_EQ(busy.slot.detail, number(ErrorCode::LockBusy));
  EXPECT_EQ(busy.slot.token, held.slot.token);
  EXPECT_EQ(busy.slot.extra, 5u);
}

TEST(LockServiceTest, ReleaseAnswersTheFirstWaiter) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto first = bench.acquire(6, 1, "a", protocol::kForeverMs);
  const auto second = bench.acquire(7, 1, "a", protocol::kForeverMs);
  bench.decide();
  EXPECT_TRUE(bench.sink.replies.empty());
  EXPECT_EQ(bench.service->wait_count(), 2u);
  EXPECT_EQ(bench.sink.parked, 2);
  const auto released = bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(released.slot.code, StatusCode::Ok);
  const auto granted = bench.sink.take(first);
  EXPECT_EQ(granted.slot.code, StatusCode::Ok);
  EXPECT_GT(granted.slot.token, held.slot.token);
  EXPECT_TRUE(bench.sink.replies.empty());
  bench.decided(bench.release(6, 2, "a", granted.slot.token));
  EXPECT_GT(bench.sink.take(second).slot.token, granted.slot.token);
  EXPECT_EQ(bench.sink.parked, 0);
}

TEST(LockServiceTest, ReleaseWithAnotherTokenIsRefused) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto stale = bench.decided(bench.release(5, 2, "a", held.slot.token + 1));
  EXPECT_EQ(stale.slot.detail, number(ErrorCode::TokenStale));
  const auto other = bench.decided(bench.release(6, 1, "a", held.slot.token));
  EXPECT_NE(other.slot.code, StatusCode::Ok);
}

TEST(LockServiceTest, L6HoldsAreCountedAndTheLimitHasItsOwnNumber) {
  LockBench bench;
  bench.lead_all();
  const protocol::LockHold twice{.flags = 1, .limit = 2, .name = "a"};
  const auto held = bench.decided(bench.acquire_hold(5, 1, twice));
  const auto again = bench.decided(bench.acquire_hold(5, 2, twice));
  EXPECT_TRUE(again.slot.has(protocol::ReplyFlag::HeldAgain));
  EXPECT_EQ(again.slot.token, held.slot.token);
  const auto over = bench.decided(bench.acquire_hold(5, 3, twice));
  EXPECT_EQ(over.slot.detail, number(ErrorCode::HoldsExhausted));
  const auto one = bench.decided(bench.release(5, 4, "a", held.slot.token));
  EXPECT_EQ(one.slot.code, StatusCode::Ok);
  EXPECT_TRUE(one.slot.has(protocol::ReplyFlag::StillHeld));
  const auto last = bench.decided(bench.release(5, 5, "a", held.slot.token));
  EXPECT_EQ(last.slot.code, StatusCode::Ok);
  EXPECT_FALSE(last.slot.has(protocol::ReplyFlag::StillHeld));
}

TEST(LockServiceTest, L6CancellingAHoldThatWasCountedSaysWhichToGiveBack) {
  LockBench bench;
  bench.lead_all();
  const protocol::LockHold hold{.flags = 1, .limit = 2, .name = "a"};
  const auto held = bench.decided(bench.acquire_hold(5, 1, hold));
  bench.decided(bench.acquire_hold(5, 2, hold));
  protocol::RequestSlot cancel = bench.slot(RequestKind::LockCancel);
  cancel.session = 5;
  cancel.sequence = 2;
  cancel.acked_below = 1;
  const auto answer = bench.decided(bench.send(cancel, "a"));
  EXPECT_EQ(answer.slot.detail, number(ErrorCode::AcquireGranted));
  EXPECT_EQ(answer.slot.token, held.slot.token);
  EXPECT_TRUE(answer.slot.has(protocol::ReplyFlag::HeldAgain));
  EXPECT_FALSE(answer.slot.has(protocol::ReplyFlag::AlreadyHeld));
}

TEST(LockServiceTest, L7ReadersShareAndAWriterWaitsForThem) {
  LockBench bench;
  bench.lead_all();
  const protocol::LockHold read{.flags = 2, .permits = 1, .name = "a"};
  const auto one = bench.decided(bench.acquire_hold(5, 1, read));
  const auto two = bench.decided(bench.acquire_hold(6, 1, read));
  EXPECT_EQ(two.slot.code, StatusCode::Ok);
  EXPECT_GT(two.slot.token, one.slot.token);
  const auto upgrade = bench.decided(bench.acquire(5, 2, "a"));
  EXPECT_EQ(upgrade.slot.detail, number(ErrorCode::HoldConflict));
  const auto writer = bench.acquire(7, 1, "a", protocol::kForeverMs);
  const auto late = bench.acquire_hold(8, 1, read);
  bench.decide();
  bench.decided(bench.release(5, 3, "a", one.slot.token));
  EXPECT_TRUE(bench.sink.replies.empty());
  bench.decided(bench.release(6, 2, "a", two.slot.token));
  const auto granted = bench.sink.take(writer);
  EXPECT_GT(granted.slot.token, two.slot.token);
  EXPECT_TRUE(bench.sink.replies.empty());
  const protocol::LockHold down{.flags = 6, .permits = 1, .name = "a"};
  const auto kept = bench.decided(bench.acquire_hold(7, 2, down));
  EXPECT_EQ(kept.slot.token, granted.slot.token);
  EXPECT_GT(bench.sink.take(late).slot.token, granted.slot.token);
}

TEST(LockServiceTest, L8PermitsHaveALimitThatAllNameAlike) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire_hold(5, 1, {.flags = 2, .permits = 2, .limit = 3, .name = "a"}));
  const auto other =
      bench.decided(bench.acquire_hold(6, 1, {.flags = 2, .permits = 1, .limit = 4, .name = "a"}));
  EXPECT_EQ(other.slot.detail, number(ErrorCode::PermitsDiffer));
  const auto waits = bench.acquire_hold(7, 1, {.flags = 2, .permits = 2, .limit = 3, .name = "a"});
  bench.decide();
  EXPECT_TRUE(bench.sink.replies.empty());
  protocol::RequestSlot slot = bench.slot(RequestKind::LockGet);
  slot.set(protocol::RequestFlag::Details);
  const auto id = bench.send(slot, "a");
  bench.engine.confirm_reads(*bench.service);
  const auto row = protocol::decode_lock_details(bench.sink.take(id).payload);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row.value().permits_limit, 3u);
  ASSERT_EQ(row.value().holders.size(), 1u);
  EXPECT_EQ(row.value().holders[0].session, SessionId{5});
  EXPECT_EQ(row.value().holders[0].permits, 2u);
  bench.pass_ms(1500);  // Session 5 is silent for longer than its TTL.
  bench.decide();
  bench.pass_ms(1500);
  bench.decide();
  EXPECT_EQ(bench.service->wait_count(), 0u);
  static_cast<void>(waits);
}

TEST(LockServiceTest, AnEngineThatTakesPlainHoldsOnlySaysSo) {
  LockBench bench;
  bench.lead_all();
  bench.engine.holds = false;
  const auto id = bench.acquire_hold(5, 1, {.name = "a", .note = "n"});
  EXPECT_EQ(bench.sink.take(id).slot.detail, number(ErrorCode::HoldsUnsupported));
  EXPECT_TRUE(bench.engine.proposals.empty());
  EXPECT_EQ(bench.decided(bench.acquire(5, 1, "a")).slot.code, StatusCode::Ok);
}

TEST(LockServiceTest, AReleaseByTokenLeavesTheOwnersNumbersAlone) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  protocol::RequestSlot release = protocol::to_slot(protocol::LockRelease{
      .caller = {SessionId{5}, {}, {}}, .token = FencingToken{held.slot.token}, .by_token = true});
  release.shard = LockBench::shard_of_name("a").value;
  EXPECT_EQ(bench.decided(bench.send(release, "a")).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.decided(bench.send(release, "a")).slot.detail, number(ErrorCode::LockNotHeld));
  const auto next = bench.decided(bench.acquire(5, 2, "a"));
  EXPECT_EQ(next.slot.code, StatusCode::Ok);
  EXPECT_GT(next.slot.token, held.slot.token);
  EXPECT_EQ(bench.decided(bench.send(release, "a")).slot.detail, number(ErrorCode::TokenStale));
}

TEST(LockServiceTest, TimedWaitEndsAtItsTimeAndLeavesNoQueueEntry) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a", 0, 60'000));
  const auto waiting = bench.acquire(6, 1, "a", 200, 60'000);
  bench.decide();
  bench.pass_ms(190);
  EXPECT_TRUE(bench.engine.proposals.empty());
  bench.pass_ms(30);
  EXPECT_EQ(bench.engine.proposals.size(), 1u);
  EXPECT_EQ(bench.decided(waiting).slot.detail, number(ErrorCode::WaitTimedOut));
  EXPECT_EQ(bench.service->wait_count(), 0u);
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(bench.decided(bench.acquire(7, 1, "a")).slot.code, StatusCode::Ok);
}

TEST(LockServiceTest, TimedWaitIsProposedAgainWhenTheLogRefusedIt) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a", 0, 60'000));
  const auto waiting = bench.acquire(6, 1, "a", 100, 60'000);
  bench.decide();
  bench.pass_ms(200);
  bench.engine.refuse(*bench.service, Status{StatusCode::ResourceExhausted, "full"}, NodeId{});
  bench.pass_ms(20);
  EXPECT_EQ(bench.decided(waiting).slot.detail, number(ErrorCode::WaitTimedOut));
}

TEST(LockServiceTest, RetryOfAGrantGivesTheSameTokenAgain) {
  LockBench bench;
  bench.lead_all();
  const auto first = bench.decided(bench.acquire(5, 1, "a"));
  bench.connection = 2;
  const auto again = bench.decided(bench.acquire(5, 1, "a"));
  EXPECT_EQ(again.slot.token, first.slot.token);
  EXPECT_EQ(again.connection, protocol::ConnectionId{2});
}

TEST(LockServiceTest, LostProposalsAreToldWithWhatIsKnown) {
  LockBench bench;
  bench.lead_all();
  const auto unknown = bench.acquire(5, 1, "a");
  bench.engine.refuse(*bench.service, Status{StatusCode::Unknown, "lost"}, NodeId{});
  EXPECT_EQ(bench.sink.take(unknown).slot.detail, number(ErrorCode::ProposalDropped));
  const auto full = bench.acquire(5, 1, "a");
  bench.engine.refuse(*bench.service, Status{StatusCode::ResourceExhausted, "full"}, NodeId{});
  EXPECT_EQ(bench.sink.take(full).slot.detail, number(ErrorCode::Overloaded));
  const auto moved = bench.acquire(5, 1, "a");
  bench.engine.refuse(*bench.service, Status{StatusCode::FailedPrecondition, "no"}, NodeId{4});
  EXPECT_EQ(bench.sink.take(moved).slot.leader, 4u);
  EXPECT_EQ(bench.service->pending_count(), 0u);
}

TEST(LockServiceTest, ASessionNamedManyTimesIsRenewedOnceAndAnsweredOnce) {
  LockBench bench;
  bench.lead_all();
  const std::vector<SessionId> sessions(protocol::kKeepAliveSessionsMax, SessionId{5});
  const auto id =
      bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions));
  const auto entries = protocol::decode_keep_alive_reply(bench.sink.take(id).payload);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries.value().size(), 1u);
}

TEST(LockServiceTest, SessionIdsNameNodeAndIncarnation) {
  LockBench bench;
  protocol::RequestSlot open = bench.slot(RequestKind::OpenSession);
  open.ttl_ms = 1000;
  const auto first = bench.sink.take(bench.send(open, "")).slot.extra;
  const auto second = bench.sink.take(bench.send(open, "")).slot.extra;
  EXPECT_EQ(first >> 32, std::uint64_t{1} << 16 | 7u);
  EXPECT_EQ(second, first + 1);
}

// Found by the simulator (seed 1032): channels of an empty directory were up on the called side,
// and its peers refused it only after it had given out an id of the life before.
TEST(LockServiceTest, ANodeThatItsPeersMayStillRefuseOpensNoSession) {
  LockBench bench;
  bench.engine.node.peers.resize(4);
  for (NodePeerView& peer : bench.engine.node.peers) {
    peer.link.state = netcore::LinkState::Up;
  }
  protocol::RequestSlot open = bench.slot(RequestKind::OpenSession);
  open.ttl_ms = 1000;
  EXPECT_EQ(bench.sink.take(bench.send(open, "")).slot.detail, number(ErrorCode::NotReady));
  bench.engine.node.peers[0].heard = Tick{1};
  EXPECT_EQ(bench.sink.take(bench.send(open, "")).slot.detail, number(ErrorCode::NotReady));
  bench.engine.node.peers[3].heard = Tick{2};
  EXPECT_EQ(bench.sink.take(bench.send(open, "")).slot.code, StatusCode::Ok);
}

// The peers that met the life before may be others than those that met this one.
TEST(LockServiceTest, ADirectoryThatNotAllHaveMetOpensNoSession) {
  LockBench bench;
  bench.engine.node.peers.resize(2);
  bench.engine.node.peers[0].heard = Tick{1};
  bench.engine.node.established = false;
  protocol::RequestSlot open = bench.slot(RequestKind::OpenSession);
  open.ttl_ms = 1000;
  EXPECT_EQ(bench.sink.take(bench.send(open, "")).slot.detail, number(ErrorCode::NotReady));
  bench.engine.node.established = true;
  EXPECT_EQ(bench.sink.take(bench.send(open, "")).slot.code, StatusCode::Ok);
}

TEST(LockServiceTest, MalformedRequestsAreRefusedWithTheirNumber) {
  LockBench bench;
  bench.lead_all();
  EXPECT_EQ(bench.sink.take(bench.acquire(5, 1, "")).slot.detail, number(ErrorCode::NameEmpty));
  EXPECT_EQ(bench.sink.take(bench.acquire(0, 1, "a")).slot.detail, number(ErrorCode::SessionZero));
  EXPECT_EQ(bench.sink.take(bench.acquire(5, 1, "a", 0, 1)).slot.detail,
            number(ErrorCode::TtlTooShort));
  const auto kind = static_cast<RequestKind>(999);
  EXPECT_EQ(bench.sink.take(bench.send(bench.slot(kind), "")).slot.detail,
            number(ErrorCode::KindUnknown));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

TEST(LockServiceTest, ASequenceFarAboveItsAcknowledgementIsRefusedBeforeTheLog) {
  LockBench bench;
  bench.lead_all();
  const auto far = bench.acquire(5, std::uint64_t{1} << 33, "a");
  EXPECT_EQ(bench.sink.take(far).slot.detail, number(ErrorCode::SequenceTooFar));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

TEST(LockServiceTest, ClosingASessionFreesItsLocksInEveryShard) {
  LockBench bench;
  bench.lead_all();
  for (std::uint64_t i = 1; i <= 8; ++i) {
    bench.acquire(5, i, "lock" + std::to_string(i));
  }
  bench.decide();
  bench.sink.replies.clear();
  protocol::RequestSlot close = bench.slot(RequestKind::CloseSession);
  close.session = 5;
  close.shard = protocol::kAllShards;
  EXPECT_EQ(bench.decided(bench.send(close, "")).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.service->locks().usage().locks, 0u);
  EXPECT_EQ(bench.decided(bench.send(close, "")).slot.code, StatusCode::Ok);
}

// An acquire that was sent twice comes again behind the close: it would be granted to nobody. The
// simulator's seed 312 has it.
TEST(LockServiceTest, WhatComesBehindItsSessionsCloseBeginsItNotAnew) {
  constexpr std::uint64_t kIssued = (std::uint64_t{2} << 48) + 5;
  constexpr std::uint64_t kChosen = 5;
  for (const std::uint64_t session : {kIssued, kChosen}) {
    LockBench leader;
    leader.lead_all();
    leader.decided(leader.acquire(session, 1, "a"));
    protocol::RequestSlot close = leader.slot(RequestKind::CloseSession);
    close.session = session;
    close.shard = protocol::kAllShards;
    leader.decided(leader.send(close, ""));
    const bool refused = session == kIssued;
    EXPECT_EQ(leader.decided(leader.acquire(session, 1, "a")).slot.detail,
              static_cast<std::uint32_t>(refused ? protocol::ErrorCode::SessionClosed
                                                 : protocol::ErrorCode::None));
    EXPECT_EQ(leader.service->locks().usage().locks, refused ? 0u : 1u);
  }
}

TEST(ClosedSessions, TheOldestIsForgotten) {
  ClosedSessions closed;
  const std::uint64_t first = std::uint64_t{1} << 48;
  for (std::uint64_t id = first; id <= first + ClosedSessions::kClosedMax; ++id) {
    closed.note(SessionId{id});
    closed.note(SessionId{id});
  }
  EXPECT_FALSE(closed.contains(SessionId{first}));
  EXPECT_TRUE(closed.contains(SessionId{first + 1}));
  EXPECT_TRUE(closed.contains(SessionId{first + ClosedSessions::kClosedMax}));
}

TEST(LockServiceTest, WhoKeepsAClosedSessionAliveIsToldThatItIsOver) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a"));
  protocol::RequestSlot close = bench.slot(RequestKind::CloseSession);
  close.session = 5;
  close.shard = protocol::kAllShards;
  bench.decided(bench.send(close, ""));
  const std::vector<SessionId> sessions{SessionId{5}};
  const auto id =
      bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions));
  const auto entries = protocol::decode_keep_alive_reply(bench.sink.take(id).payload);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries.value().size(), 1u);
  EXPECT_EQ(entries.value()[0].state, protocol::KeepAliveState::Expired);
}

TEST(LockServiceTest, CancelAnswersBothTheWaitAndItself) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a"));
  const auto waiting = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  protocol::RequestSlot cancel = bench.slot(RequestKind::LockCancel);
  cancel.session = 6;
  cancel.sequence = 1;
  cancel.acked_below = 1;
  cancel.shard = LockBench::shard_of_name("a").value;
  EXPECT_EQ(bench.decided(bench.send(cancel, "a")).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.take(waiting).slot.detail, number(ErrorCode::WaitCancelled));
  cancel.session = 5;
  EXPECT_EQ(bench.decided(bench.send(cancel, "a")).slot.detail, number(ErrorCode::AcquireGranted));
}

TEST(LockServiceTest, CancelOfAnAcquireOfAHeldLockSaysThatNothingIsToBeGivenBack) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  EXPECT_TRUE(bench.decided(bench.acquire(5, 2, "a")).slot.has(protocol::ReplyFlag::AlreadyHeld));
  protocol::RequestSlot cancel = bench.slot(RequestKind::LockCancel);
  cancel.session = 5;
  cancel.sequence = 2;
  cancel.acked_below = 1;
  cancel.shard = LockBench::shard_of_name("a").value;
  const auto second = bench.decided(bench.send(cancel, "a"));
  EXPECT_EQ(second.slot.detail, number(ErrorCode::AcquireGranted));
  EXPECT_EQ(second.slot.token, held.slot.token);
  EXPECT_TRUE(second.slot.has(protocol::ReplyFlag::AlreadyHeld));
  cancel.sequence = 1;
  EXPECT_FALSE(bench.decided(bench.send(cancel, "a")).slot.has(protocol::ReplyFlag::AlreadyHeld));
}

TEST(LockServiceTest, LeaderMapTellsWhatIsKnown) {
  LockBench bench;
  bench.engine.other_leader = NodeId{9};
  bench.engine.lead(*bench.service, ShardId{2});
  const auto id = bench.send(bench.slot(RequestKind::LeaderMap),
                             protocol::encode_shard_range({ShardId{1}, 100}));
  const auto map = protocol::decode_leader_map(bench.sink.take(id).payload);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map.value().leaders, (std::vector{NodeId{9}, NodeId{1}, NodeId{9}}));
}

TEST(LockServiceTest, SnapshotCarriesLocksAndTokens) {
  LockBench leader;
  leader.lead_all();
  const auto held = leader.decided(leader.acquire(5, 1, "a"));
  const ShardId shard = LockBench::shard_of_name("a");
  std::vector<std::byte> bytes;
  leader.service->serialize(shard, bytes);
  LockBench replica;
  ASSERT_TRUE(replica.service->install(shard, bytes).ok());
  EXPECT_EQ(replica.service->state_hash(shard), leader.service->state_hash(shard));
  replica.lead_all();
  const auto busy = replica.decided(replica.acquire(6, 1, "a"));
  EXPECT_EQ(busy.slot.token, held.slot.token);
}

}  // namespace
}  // namespace gcoord::server
