// Groups as a node serves them: exactly once, one view for what ends together, barriers that the
// log alone releases.
#include "locks/commands/ends.h"
#include "locks/snapshot/snapshot.h"
#include "protocol/groups/messages.h"
#include "server/interfaces/log_record.h"
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::string_view kName = "workers";

class GroupsTest : public testing::Test {
 protected:
  void SetUp() override { bench_.lead_all(); }

  protocol::RequestSlot slot(RequestKind kind,
                             std::uint64_t session,
                             std::uint64_t sequence) const {
    protocol::RequestSlot slot = bench_.slot(kind);
    slot.session = session;
    slot.sequence = sequence;
    slot.acked_below = session == 0 ? 0 : 1;
    slot.ttl_ms = 1000;
    slot.shard = LockBench::shard_of_name(kName).value;
    return slot;
  }

  std::uint64_t send_join(std::uint64_t session, std::uint64_t sequence, std::string_view id) {
    return bench_.send(slot(RequestKind::GroupJoin, session, sequence),
                       protocol::encode_group_join({kName, id, "at " + std::string{id}}));
  }

  KeptReply join(std::uint64_t session, std::uint64_t sequence, std::string_view id) {
    return bench_.decided(send_join(session, sequence, id));
  }

  KeptReply leave(std::uint64_t session, std::uint64_t sequence) {
    return bench_.decided(
        bench_.send(slot(RequestKind::GroupLeave, session, sequence), std::string{kName}));
  }

  // Decided, and answered when it is the last one.
  std::uint64_t arrive(std::uint64_t session, std::uint64_t sequence, std::uint32_t size) {
    protocol::RequestSlot request = slot(RequestKind::GroupBarrier, session, sequence);
    request.deadline_ms = barrier_wait_ms_;
    request.set(protocol::RequestFlag::Wait);
    const auto id = bench_.send(request, protocol::encode_group_arrival({size, kName}));
    bench_.decide();
    return id;
  }

  std::uint64_t look(std::uint64_t epoch, std::uint32_t members, std::uint32_t wait_ms) {
    protocol::RequestSlot request = slot(RequestKind::GroupGet, 0, 0);
    request.deadline_ms = wait_ms;
    if (wait_ms != 0) {
      request.set(protocol::RequestFlag::Wait);
    }
    const auto id = bench_.send(request, protocol::encode_group_query({epoch, members, kName}));
    bench_.engine.confirm_reads(*bench_.service);
    return id;
  }

  protocol::GroupAnswer answer(std::uint64_t request) {
    const KeptReply reply = bench_.sink.take(request);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
    const auto decoded = protocol::decode_group_answer(reply.payload);
    EXPECT_TRUE(decoded.ok());
    return decoded.ok() ? decoded.value() : protocol::GroupAnswer{};
  }

  protocol::GroupAnswer view() { return answer(look(0, 0, 0)); }

  std::vector<std::string> ids() {
    std::vector<std::string> ids;
    for (const protocol::GroupChangeRow& row : view().rows) {
      ids.push_back(row.id);
    }
    return ids;
  }

  bool answered(std::uint64_t request) const {
    return std::ranges::any_of(bench_.sink.replies, [&](const KeptReply& reply) {
      return reply.slot.request_id == request;
    });
  }

  void expect_error(const KeptReply& reply, ErrorCode error) {
    EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(error));
  }

  // One entry that ends these sessions, all of their first registration in the shard or later.
  void end_together(const std::vector<std::uint64_t>& sessions) {
    std::vector<locks::SessionEnd> ends;
    const ShardId shard = LockBench::shard_of_name(kName);
    const auto& tables = bench_.service->locks().tables();
    for (const std::uint64_t session : sessions) {
      const auto row = locks::find_session(tables, shard, SessionId{session});
      ASSERT_NE(row.value, 0u);
      ends.push_back({SessionId{session}, tables.sessions[row].serial});
    }
    const std::vector<char> list = locks::encode_ends(ends);
    std::vector<std::byte> record;
    put_record_header(record, {RecordKind::LockCommand});
    locks::encode(locks::make_expire_sessions(list), record);
    AppliedEntry entry;
    entry.shard = shard;
    entry.index = LogIndex{++bench_.engine.index[shard.value]};
    entry.payload = record;
    bench_.service->apply(entry);
  }

  LockBench bench_;
  std::uint32_t barrier_wait_ms_ = protocol::kForeverMs;
};

TEST_F(GroupsTest, M9AJoinIsVisibleWithItsPayloadAndRanksCloseUpAfterALeave) {
  EXPECT_EQ(join(5, 1, "a").slot.extra, 0u);
  EXPECT_EQ(join(6, 1, "b").slot.extra, 1u);
  const KeptReply third = join(7, 1, "c");
  EXPECT_EQ(third.slot.extra, 2u);
  EXPECT_EQ(third.slot.token, 4u);
  EXPECT_EQ(leave(6, 2).slot.token, 5u);
  EXPECT_EQ(ids(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(view().rows[1].payload, "at c");
  EXPECT_EQ(view().epoch, 5u);
}

TEST_F(GroupsTest, M9ARetryIsAnsweredAsBeforeAndDoesNothingASecondTime) {
  EXPECT_EQ(join(5, 1, "a").slot.token, 2u);
  EXPECT_EQ(leave(5, 2).slot.token, 3u);
  const KeptReply again = join(5, 1, "a");
  EXPECT_EQ(again.slot.code, StatusCode::Ok);
  EXPECT_EQ(again.slot.token, 2u);
  EXPECT_TRUE(ids().empty());
  expect_error(join(5, 1, "other"), ErrorCode::SequenceReused);
}

TEST_F(GroupsTest, M9WhatCannotBeIsRefusedWithANumberOfItsOwn) {
  join(5, 1, "a");
  expect_error(join(6, 1, "a"), ErrorCode::MemberIdTaken);
  expect_error(join(5, 2, "b"), ErrorCode::MemberIdDiffers);
  EXPECT_EQ(join(5, 3, "a").slot.code, StatusCode::Ok);
  expect_error(leave(6, 2), ErrorCode::GroupNotMember);
  expect_error(bench_.sink.take(send_join(5, 4, std::string(65, 'x'))), ErrorCode::MemberIdInvalid);
  protocol::RequestSlot request = slot(RequestKind::GroupBarrier, 5, 5);
  expect_error(bench_.sink.take(bench_.send(request, protocol::encode_group_arrival({0, kName}))),
               ErrorCode::BarrierSizeInvalid);
  EXPECT_EQ(view().epoch, 2u);
}

TEST_F(GroupsTest, M8SessionsThatOneEntryEndsMakeOneView) {
  for (std::uint64_t session = 5; session < 10; ++session) {
    join(session, 1, "m" + std::to_string(session));
  }
  const auto waiting = look(6, 5, 10'000);
  EXPECT_FALSE(answered(waiting));
  end_together({6, 7, 9});
  const protocol::GroupAnswer changes = answer(waiting);
  EXPECT_FALSE(changes.whole);
  EXPECT_EQ(changes.epoch, 7u);
  ASSERT_EQ(changes.rows.size(), 3u);
  for (const protocol::GroupChangeRow& row : changes.rows) {
    EXPECT_EQ(row.epoch, 7u);
    EXPECT_EQ(row.kind, protocol::GroupChangeKind::Left);
  }
  EXPECT_EQ(ids(), (std::vector<std::string>{"m5", "m8"}));
}

TEST_F(GroupsTest, M8AClientThatComesLateGetsEachViewItMissedInOrder) {
  join(5, 1, "a");
  join(6, 1, "b");
  leave(5, 2);
  const protocol::GroupAnswer changes = answer(look(2, 1, 10'000));
  EXPECT_FALSE(changes.whole);
  ASSERT_EQ(changes.rows.size(), 2u);
  EXPECT_EQ(changes.rows[0].epoch, 3u);
  EXPECT_EQ(changes.rows[0].id, "b");
  EXPECT_EQ(changes.rows[1].epoch, 4u);
  EXPECT_EQ(changes.rows[1].kind, protocol::GroupChangeKind::Left);
}

TEST_F(GroupsTest, M8WhoLooksAtAGroupThatNobodyIsInWaitsForTheFirstMember) {
  const protocol::GroupAnswer empty = view();
  EXPECT_TRUE(empty.whole);
  EXPECT_NE(empty.epoch, 0u);
  const auto waiting = look(empty.epoch, 0, 10'000);
  EXPECT_FALSE(answered(waiting));
  join(5, 1, "a");
  const protocol::GroupAnswer changes = answer(waiting);
  EXPECT_FALSE(changes.whole);
  ASSERT_EQ(changes.rows.size(), 1u);
  EXPECT_EQ(changes.rows[0].epoch, empty.epoch + 1);
}

TEST_F(GroupsTest, M8ALookThatWaitsEndsWithoutChangesAtItsDeadlineOrWithTheLeader) {
  join(5, 1, "a");
  const auto late = look(2, 1, 500);
  bench_.pass_ms(400);
  EXPECT_FALSE(answered(late));
  bench_.pass_ms(200);
  const protocol::GroupAnswer nothing = answer(late);
  EXPECT_FALSE(nothing.whole);
  EXPECT_TRUE(nothing.rows.empty());
  const auto deposed = look(2, 1, 500);
  bench_.engine.follow(*bench_.service, LockBench::shard_of_name(kName), NodeId{2});
  expect_error(bench_.sink.take(deposed), ErrorCode::NotLeader);
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(GroupsTest, ABarrierIsReleasedForAllByTheLastArrival) {
  const auto first = arrive(5, 1, 3);
  const auto second = arrive(6, 1, 3);
  EXPECT_FALSE(answered(first));
  expect_error(bench_.sink.take(arrive(9, 1, 2)), ErrorCode::BarrierSizeDiffers);
  const auto again = arrive(6, 1, 3);  // A retry is no third arrival.
  EXPECT_FALSE(answered(first));
  expect_error(bench_.sink.take(second), ErrorCode::SequenceReused);
  const auto third = arrive(7, 1, 3);
  EXPECT_EQ(bench_.sink.take(first).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.take(again).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.take(third).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.take(arrive(5, 1, 3)).slot.code, StatusCode::Ok);  // A late retry.
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(GroupsTest, ADeadlineTakesTheArrivalBackAndSaysWhoWasMissing) {
  join(5, 1, "a");
  join(6, 1, "b");
  barrier_wait_ms_ = 300;
  const auto waiting = arrive(5, 2, 2);
  bench_.pass_ms(400);
  EXPECT_FALSE(answered(waiting));  // The log decides.
  bench_.decide();
  const KeptReply late = bench_.sink.take(waiting);
  expect_error(late, ErrorCode::BarrierTimedOut);
  EXPECT_EQ(protocol::text_of(late.payload), "1 of 2 had arrived: a; members that had not: b");
  EXPECT_FALSE(answered(arrive(6, 2, 2)));  // Nobody waits any more.
  expect_error(bench_.sink.take(arrive(5, 2, 2)), ErrorCode::BarrierTimedOut);
}

TEST_F(GroupsTest, AReleaseThatComesBeforeTheEndOfAWaitWins) {
  barrier_wait_ms_ = 300;
  const auto waiting = arrive(5, 1, 2);
  protocol::RequestSlot request = slot(RequestKind::GroupBarrier, 6, 1);
  request.deadline_ms = protocol::kForeverMs;
  request.set(protocol::RequestFlag::Wait);
  bench_.send(request, protocol::encode_group_arrival({2, kName}));
  bench_.pass_ms(400);  // The end of the wait stands behind the arrival.
  bench_.decide();
  EXPECT_EQ(bench_.sink.take(waiting).slot.code, StatusCode::Ok);
}

TEST_F(GroupsTest, ANewLeaderGoesOnWithABarrierThatTheOldOneLed) {
  const auto first = arrive(5, 1, 2);
  const ShardId shard = LockBench::shard_of_name(kName);
  bench_.engine.follow(*bench_.service, shard, NodeId{2});
  expect_error(bench_.sink.take(first), ErrorCode::NotLeader);
  bench_.engine.lead(*bench_.service, shard);
  const auto retry = arrive(5, 1, 2);
  EXPECT_FALSE(answered(retry));
  EXPECT_EQ(bench_.sink.take(arrive(6, 1, 2)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.take(retry).slot.code, StatusCode::Ok);
}

TEST_F(GroupsTest, ASessionThatEndsWhileItWaitsIsTakenOff) {
  const auto waiting = arrive(5, 1, 2);
  const auto other = arrive(6, 1, 3);
  expect_error(bench_.sink.take(other), ErrorCode::BarrierSizeDiffers);
  end_together({5});
  expect_error(bench_.sink.take(waiting), ErrorCode::SessionExpired);
  EXPECT_FALSE(answered(arrive(6, 2, 2)));
}

TEST_F(GroupsTest, TheStateOfAShardGoesToAnotherNodeWithItsGroups) {
  const ShardId shard = LockBench::shard_of_name(kName);
  std::vector<std::byte> before;
  bench_.service->serialize(shard, before);
  join(5, 1, "a");
  join(6, 1, "b");
  arrive(6, 2, 3);
  std::vector<std::byte> bytes;
  bench_.service->serialize(shard, bytes);
  EXPECT_TRUE(bench_.service->plausible(shard, bytes));
  EXPECT_FALSE(bench_.service->plausible(shard, std::span{bytes}.first(bytes.size() - 1)));
  LockBench other;
  ASSERT_TRUE(other.service->install(shard, bytes).ok());
  EXPECT_EQ(other.service->state_hash(shard), bench_.service->state_hash(shard));
  std::vector<std::byte> again;
  other.service->serialize(shard, again);
  EXPECT_EQ(again, bytes);
  ASSERT_TRUE(other.service->install(shard, before).ok());
  EXPECT_EQ(other.service->group_machine().groups().usage().participants, 0u);
}

TEST_F(GroupsTest, NothingIsWrittenBeforeAllNodesKnowGroups) {
  LockBench bench{{NodeId{1}, NodeId{2}}};
  bench.lead_all();
  protocol::RequestSlot request = slot(RequestKind::GroupJoin, 5, 1);
  const auto payload = protocol::encode_group_join({kName, "a", ""});
  const auto refused = bench.sink.take(bench.send(request, payload));
  expect_error(refused, ErrorCode::GroupsNotReady);
  EXPECT_TRUE(bench.engine.proposals.empty());
  NodeFeatures other{{.node = NodeId{2}, .nodes = {NodeId{1}, NodeId{2}}}};
  FakeEngine elsewhere;
  other.start(elsewhere, Incarnation{3});
  other.on_tick(Tick{1});
  bench.service->on_peer_message(NodeId{2}, elsewhere.features_said.front().second);
  EXPECT_EQ(bench.decided(bench.send(request, payload)).slot.code, StatusCode::Ok);
}

// Another node that knows groups knows them as entries of a device only with a release of now.
TEST_F(GroupsTest, OnADeviceNothingIsWrittenBeforeAllNodesKnowItsEntries) {
  LockBench bench{{NodeId{1}, NodeId{2}}};
  bench.lead_all();
  bench.engine.on_device = true;
  const auto say = [&bench](std::uint64_t features, Incarnation life) {
    NodeFeatures other{{.node = NodeId{2}, .nodes = {NodeId{1}, NodeId{2}}, .features = features}};
    FakeEngine elsewhere;
    other.start(elsewhere, life);
    other.on_tick(Tick{1});
    bench.service->on_peer_message(NodeId{2}, elsewhere.features_said.front().second);
  };
  protocol::RequestSlot request = slot(RequestKind::GroupJoin, 5, 1);
  const auto payload = protocol::encode_group_join({kName, "a", ""});
  say(protocol::kFeatures & ~static_cast<std::uint64_t>(protocol::Feature::DeviceGroups),
      Incarnation{3});
  expect_error(bench.sink.take(bench.send(request, payload)), ErrorCode::GroupsNotReady);
  EXPECT_TRUE(bench.engine.proposals.empty());
  say(protocol::kFeatures, Incarnation{4});
  EXPECT_EQ(bench.decided(bench.send(request, payload)).slot.code, StatusCode::Ok);
}

TEST_F(GroupsTest, WhatADeviceIsFilledWithAndComparedWithIsTheLocksAlone) {
  const ShardId shard = LockBench::shard_of_name(kName);
  join(5, 1, "a");
  std::vector<std::byte> whole;
  std::vector<std::byte> locks;
  bench_.service->serialize(shard, whole);
  bench_.service->state(shard, locks);
  EXPECT_GT(whole.size(), locks.size());
  EXPECT_TRUE(locks::parse_snapshot(locks).ok());
  EXPECT_FALSE(locks::parse_snapshot(whole).ok());
  EXPECT_EQ(bench_.service->device_hash(shard), bench_.service->locks().state_hash(shard));
  EXPECT_NE(bench_.service->device_hash(shard), bench_.service->state_hash(shard));
}

TEST_F(GroupsTest, ATurnThatHasNoPlaceForThemRefusesThem) {
  FakeEngine& engine = bench_.engine;
  engine.groups = false;
  expect_error(bench_.sink.take(send_join(5, 1, "a")), ErrorCode::GroupsUnsupported);
  EXPECT_TRUE(engine.proposals.empty());
}

}  // namespace
}  // namespace gcoord::server
