// Rendezvous as a node serves them: all members get the same round, whichever leader ends its last
// call, and a deadline takes an arrival back.
#include "locks/commands/ends.h"
#include "locks/commands/group_command.h"
#include "membership/rendezvous/command.h"
#include "membership/rendezvous/snapshot.h"
#include "protocol/rendezvous/messages.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"
#include "server/lock_service/lock_service.h"
#include "server/restore/states.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::string_view kName = "job";

class RendezvousTest : public testing::Test {
 protected:
  void SetUp() override { bench_.lead_all(); }

  static ShardId shard() { return LockBench::shard_of_name(kName); }

  protocol::RequestSlot slot(RequestKind kind, std::uint64_t session, std::uint64_t sequence) {
    protocol::RequestSlot slot = bench_.slot(kind);
    slot.session = session;
    slot.sequence = sequence;
    slot.acked_below = session == 0 ? 0 : 1;
    slot.ttl_ms = session == 0 ? 0 : 5000;
    slot.shard = shard().value;
    return slot;
  }

  // Decided, and answered when it completes the round.
  std::uint64_t join(std::uint64_t session, std::uint64_t sequence) {
    protocol::RequestSlot request = slot(RequestKind::RendezvousJoin, session, sequence);
    request.deadline_ms = wait_ms_;
    request.set(protocol::RequestFlag::Wait);
    const std::string payload = "at " + std::to_string(session);
    const auto id = bench_.send(
        request, protocol::encode_rendezvous_join({min_, max_, last_call_ms_, kName, payload}));
    bench_.decide();
    return id;
  }

  std::uint64_t look(std::uint64_t version, std::uint32_t wait_ms) {
    protocol::RequestSlot request = slot(RequestKind::RendezvousGet, 0, 0);
    request.deadline_ms = wait_ms;
    if (wait_ms != 0) {
      request.set(protocol::RequestFlag::Wait);
    }
    const auto id = bench_.send(request, protocol::encode_rendezvous_query({version, kName}));
    bench_.engine.confirm_reads(*bench_.service);
    return id;
  }

  protocol::RendezvousState state(std::uint64_t request) {
    const KeptReply reply = bench_.sink.take(request);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
    return protocol::decode_rendezvous_state(reply.payload).value();
  }

  // The round, that it names these sessions by rank, and that this one has that rank.
  std::uint64_t expect_round(std::uint64_t request,
                             std::uint64_t rank,
                             const std::vector<std::uint64_t>& sessions) {
    const KeptReply reply = bench_.sink.take(request);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
    EXPECT_EQ(reply.slot.extra, rank);
    std::vector<protocol::RendezvousMemberRow> members;
    for (const std::uint64_t session : sessions) {
      members.push_back({SessionId{session}, "at " + std::to_string(session)});
    }
    EXPECT_EQ(protocol::decode_rendezvous_round(reply.payload).value(), members);
    return reply.slot.token;
  }

  // One entry that ends it, of its first registration in the shard.
  void end_session(std::uint64_t session) {
    const auto& tables = bench_.service->locks().tables();
    const auto row = locks::find_session(tables, shard(), SessionId{session});
    ASSERT_NE(row.value, 0u);
    const std::vector<locks::SessionEnd> ends{{SessionId{session}, tables.sessions[row].serial}};
    const std::vector<char> list = locks::encode_ends(ends);
    std::vector<std::byte> record;
    put_record_header(record, {RecordKind::LockCommand});
    locks::encode(locks::make_expire_sessions(list), record);
    AppliedEntry entry;
    entry.shard = shard();
    entry.index = LogIndex{++bench_.engine.index[shard().value]};
    entry.payload = record;
    bench_.service->apply(entry);
  }

  bool answered(std::uint64_t request) const {
    return std::ranges::any_of(bench_.sink.replies, [&](const KeptReply& reply) {
      return reply.slot.request_id == request;
    });
  }

  void expect_error(const KeptReply& reply, ErrorCode error) {
    EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(error));
  }

  LockBench bench_;
  std::uint32_t min_ = 2;
  std::uint32_t max_ = 3;
  std::uint32_t last_call_ms_ = 500;
  std::uint32_t wait_ms_ = protocol::kForeverMs;
};

TEST_F(RendezvousTest, TheMaximumCompletesTheRoundAndAllGetTheSame) {
  const auto first = join(5, 1);
  const auto second = join(6, 1);
  EXPECT_FALSE(answered(first));
  const auto third = join(7, 1);
  const std::uint64_t round = expect_round(first, 0, {5, 6, 7});
  EXPECT_EQ(expect_round(second, 1, {5, 6, 7}), round);
  EXPECT_EQ(expect_round(third, 2, {5, 6, 7}), round);
  EXPECT_EQ(expect_round(join(6, 1), 1, {5, 6, 7}), round);  // A late retry.
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(RendezvousTest, TheLastCallIsEndedByTheLogWhenItsTimeHasPassed) {
  const auto first = join(5, 1);
  const auto second = join(6, 1);
  EXPECT_TRUE(state(look(0, 0)).last_call);
  bench_.pass_ms(400);
  EXPECT_TRUE(bench_.engine.proposals.empty());
  bench_.pass_ms(200);
  EXPECT_FALSE(answered(first));  // The log decides.
  bench_.decide();
  EXPECT_EQ(expect_round(first, 0, {5, 6}), expect_round(second, 1, {5, 6}));
  bench_.pass_ms(2000);
  EXPECT_TRUE(bench_.engine.proposals.empty());
}

TEST_F(RendezvousTest, ANewLeaderEndsALastCallThatTheOldOneBegan) {
  join(5, 1);
  join(6, 1);
  bench_.engine.follow(*bench_.service, shard(), NodeId{2});
  bench_.pass_ms(700);
  EXPECT_TRUE(bench_.engine.proposals.empty());
  bench_.engine.lead(*bench_.service, shard());
  const auto retry = join(5, 1);
  EXPECT_FALSE(answered(retry));
  bench_.pass_ms(1100);
  bench_.decide();
  expect_round(retry, 0, {5, 6});
}

TEST_F(RendezvousTest, AnEndThatDidNotGetIntoTheLogIsProposedAgain) {
  const auto first = join(5, 1);
  join(6, 1);
  bench_.pass_ms(600);
  ASSERT_EQ(bench_.engine.proposals.size(), 1u);
  bench_.engine.refuse(*bench_.service, Status{StatusCode::Unavailable, "dropped"}, NodeId{});
  bench_.pass_ms(100);
  bench_.decide();
  expect_round(first, 0, {5, 6});
}

TEST_F(RendezvousTest, ADeadlineTakesTheArrivalBackAndSaysHowManyHadCome) {
  wait_ms_ = 300;
  const auto waiting = join(5, 1);
  bench_.pass_ms(400);
  EXPECT_FALSE(answered(waiting));
  bench_.decide();
  const KeptReply late = bench_.sink.take(waiting);
  expect_error(late, ErrorCode::RendezvousTimedOut);
  EXPECT_EQ(protocol::text_of(late.payload), "1 of at least 2 had come");
  expect_error(bench_.sink.take(join(5, 1)), ErrorCode::RendezvousTimedOut);
  EXPECT_EQ(state(look(0, 0)).waiting, 0u);
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(RendezvousTest, MembersSeeThatSomebodyWaitsAndComeAgainForTheNextRound) {
  max_ = 2;
  const auto first = join(5, 1);
  const std::uint64_t round = expect_round(join(6, 1), 1, {5, 6});
  expect_round(first, 0, {5, 6});
  const protocol::RendezvousState before = state(look(0, 0));
  EXPECT_EQ(before.round, round);
  EXPECT_EQ(before.alive, 3u);
  const auto watching = look(before.version, 10'000);
  EXPECT_FALSE(answered(watching));
  max_ = 3;
  const auto newcomer = join(7, 1);
  EXPECT_EQ(state(watching).waiting, 1u);
  const auto again = join(6, 2);
  EXPECT_EQ(state(look(0, 0)).alive, 1u);
  EXPECT_FALSE(answered(newcomer));
  const std::uint64_t next = expect_round(join(5, 2), 0, {5, 6, 7});
  EXPECT_GT(next, round);
  EXPECT_EQ(expect_round(again, 1, {5, 6, 7}), next);
  EXPECT_EQ(expect_round(newcomer, 2, {5, 6, 7}), next);
}

TEST_F(RendezvousTest, WhatCannotBeIsRefusedWithANumberOfItsOwn) {
  join(5, 1);
  max_ = 4;
  expect_error(bench_.sink.take(join(6, 1)), ErrorCode::RendezvousBoundsDiffer);
  min_ = 5;
  expect_error(bench_.sink.take(join(6, 2)), ErrorCode::RendezvousBoundsInvalid);
  const auto leave = bench_.send(slot(RequestKind::RendezvousLeave, 6, 3), std::string{kName});
  expect_error(bench_.decided(leave), ErrorCode::RendezvousNotThere);
  bench_.engine.groups = false;
  max_ = 3;
  min_ = 2;
  expect_error(bench_.sink.take(join(7, 1)), ErrorCode::GroupsUnsupported);
}

TEST_F(RendezvousTest, WhoLeavesWhileItWaitsIsAnswered) {
  const auto waiting = join(5, 1);
  const auto leave = bench_.send(slot(RequestKind::RendezvousLeave, 5, 2), std::string{kName});
  EXPECT_EQ(bench_.decided(leave).slot.code, StatusCode::Ok);
  expect_error(bench_.sink.take(waiting), ErrorCode::RendezvousNotThere);
  const auto closed = join(6, 1);
  end_session(6);
  expect_error(bench_.sink.take(closed), ErrorCode::SessionExpired);
}

TEST_F(RendezvousTest, TheStateOfAShardGoesToAnotherNodeAndItsLastCallEndsThere) {
  std::vector<std::byte> before;
  bench_.service->serialize(shard(), before);
  join(5, 1);
  join(6, 1);
  std::vector<std::byte> bytes;
  bench_.service->serialize(shard(), bytes);
  EXPECT_TRUE(bench_.service->plausible(shard(), bytes));
  EXPECT_FALSE(bench_.service->plausible(shard(), std::span{bytes}.first(bytes.size() - 1)));
  LockBench other;
  ASSERT_TRUE(other.service->install(shard(), bytes).ok());
  EXPECT_EQ(other.service->state_hash(shard()), bench_.service->state_hash(shard()));
  std::vector<std::byte> again;
  other.service->serialize(shard(), again);
  EXPECT_EQ(again, bytes);
  other.lead_all();
  other.pass_ms(600);
  other.decide();
  const auto* const rendezvous =
      other.service->group_machine().rendezvous().find(shard(), hash_name(kName));
  ASSERT_NE(rendezvous, nullptr);
  EXPECT_EQ(rendezvous->members.size(), 2u);
  ASSERT_TRUE(other.service->install(shard(), before).ok());
  EXPECT_EQ(other.service->group_machine().rendezvous().usage().rendezvous, 0u);
}

TEST_F(RendezvousTest, ARestoreDrawsHigherRoundsAndDropsMembersWithSessions) {
  min_ = max_ = 1;
  const std::uint64_t round = expect_round(join(5, 1), 0, {5});
  std::vector<std::byte> bytes;
  bench_.service->serialize(shard(), bytes);
  EXPECT_TRUE(summarize_state(bytes).ok());
  const auto dropped = restored_state(bytes, {.token_bump = 1000, .drop_sessions = true});
  ASSERT_TRUE(dropped.ok()) << dropped.status().message();
  ASSERT_TRUE(bench_.service->install(shard(), dropped.value()).ok());
  EXPECT_GT(expect_round(join(6, 1), 0, {6}), round + 1000);
}

TEST_F(RendezvousTest, NothingIsWrittenBeforeAllNodesKnowRendezvous) {
  LockBench bench{{NodeId{1}, NodeId{2}}};
  bench.lead_all();
  protocol::RequestSlot request = slot(RequestKind::RendezvousJoin, 5, 1);
  const auto payload = protocol::encode_rendezvous_join({1, 1, 0, kName, ""});
  expect_error(bench.sink.take(bench.send(request, payload)), ErrorCode::RendezvousNotReady);
  EXPECT_TRUE(bench.engine.proposals.empty());
  NodeFeatures other{{.node = NodeId{2}, .nodes = {NodeId{1}, NodeId{2}}}};
  FakeEngine elsewhere;
  other.start(elsewhere, Incarnation{3});
  other.on_tick(Tick{1});
  bench.service->on_peer_message(NodeId{2}, elsewhere.features_said.front().second);
  EXPECT_EQ(bench.decided(bench.send(request, payload)).slot.code, StatusCode::Ok);
}

TEST(RendezvousRecords, TheLedgerTellsThemInWords) {
  const auto facts_of = [](const locks::LockCommand& command) {
    std::vector<std::byte> record;
    put_record_header(record, {RecordKind::LockCommand});
    locks::encode(command, record);
    std::string line;
    for (const auto& [name, value] : record_facts(record)) {
      line += name + "=" + value + " ";
    }
    return line;
  };
  const std::string text = "job" + membership::encode_rendezvous_arrive({2, 4, 50}, "here");
  const std::string arrive = facts_of(locks::make_group_request({.session = SessionId{5},
                                                                 .sequence = RequestSequence{1},
                                                                 .ttl_ms = 1000,
                                                                 .name_bytes = 3,
                                                                 .text = text}));
  EXPECT_NE(arrive.find("op=rendezvous_arrive members_min=2 members_max=4 last_call_ms=50"),
            std::string::npos)
      << arrive;
  const std::string end = facts_of(locks::make_group_withdraw({.session = SessionId{5},
                                                               .sequence = RequestSequence{1},
                                                               .generation = 7,
                                                               .name = "job",
                                                               .flags = locks::kWithdrawLastCall}));
  EXPECT_NE(end.find("of=last_call generation=7"), std::string::npos) << end;
}

}  // namespace
}  // namespace gcoord::server
