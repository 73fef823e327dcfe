// Reads that say how fresh their answer must be, over engines that decide when the test says so.
#include "server/reads/replica_reads.h"

#include "common/name_hash.h"
#include "common/random.h"
#include "protocol/force_messages.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::ReadConsistency;
using protocol::ReadQuestion;
using protocol::RequestKind;

protocol::RequestSlot read_slot(std::uint32_t deadline_ms = 1000) {
  protocol::RequestSlot slot;
  slot.kind = RequestKind::LockRead;
  slot.deadline_ms = deadline_ms;
  return slot;
}

std::vector<std::byte> rows(std::vector<std::string_view> names, const protocol::ReadTerms& terms) {
  protocol::LockRead read{terms, ReadQuestion::Row, {}};
  for (const std::string_view name : names) {
    read.names.push_back({name, FencingToken{}});
  }
  return protocol::encode_lock_read(read);
}

protocol::LockReadReply decoded(const KeptReply& reply) {
  EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
  const auto decoded = protocol::decode_lock_read_reply(reply.payload);
  EXPECT_TRUE(decoded.ok());
  return decoded.ok() ? decoded.value() : protocol::LockReadReply{};
}

// A leader and a follower of all four shards; what the one decides the other applies when told.
struct Pair {
  Pair() : leader(nodes(), NodeId{1}), follower(nodes(), NodeId{2}) {
    leader.lead_all();
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      follower.engine.follow(*follower.service, ShardId{shard}, NodeId{1});
    }
  }

  static std::vector<NodeId> nodes() { return {NodeId{1}, NodeId{2}, NodeId{3}}; }

  // Decides at the leader; the follower gets it with catch_up().
  void decide() {
    for (const FakeEngine::Proposal& proposal : leader.engine.proposals) {
      behind.push_back(proposal);
    }
    leader.decide();
  }

  void catch_up() {
    for (FakeEngine::Proposal& proposal : behind) {
      proposal.cookie = 0;
      follower.engine.proposals.push_back(proposal);
    }
    behind.clear();
    follower.decide();
  }

  void pass_ms(std::uint64_t ms) {
    leader.pass_ms(ms);
    follower.pass_ms(ms);
  }

  // The follower's questions get to the leader, which confirms, and its answers back.
  void exchange() {
    deliver(follower, leader, NodeId{2});
    leader.engine.confirm_reads(*leader.service);
    deliver(leader, follower, NodeId{1});
  }

  static void deliver(LockBench& from, LockBench& to, NodeId sender) {
    for (const auto& [target, message] : std::exchange(from.engine.messages, {})) {
      if (message.front() == kReplicaAgesKind) {
        to.service->on_peer_message(sender, message);
      }
    }
  }

  LockBench leader;
  LockBench follower;
  std::vector<FakeEngine::Proposal> behind;
};

TEST(ReplicaReadsTest, R3SerializableAnswersAtOnceFromAnyReplicaAndSaysIndexAndAge) {
  Pair pair;
  pair.leader.acquire(5, 1, "a");
  pair.decide();
  pair.catch_up();
  const auto id =
      pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
  const auto first = decoded(pair.follower.sink.take(id));
  ASSERT_EQ(first.names.size(), 1u);
  EXPECT_TRUE(first.names[0].present);
  EXPECT_EQ(first.names[0].row.holder, SessionId{5});
  ASSERT_EQ(first.shards.size(), 1u);
  EXPECT_EQ(first.shards[0].index, LogIndex{1});
  EXPECT_EQ(first.shards[0].age_ms, protocol::kAgeUnknown);
  // It asked meanwhile, so the next one knows.
  pair.pass_ms(10);
  pair.exchange();
  pair.pass_ms(70);
  const auto again =
      pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
  EXPECT_EQ(decoded(pair.follower.sink.take(again)).shards[0].age_ms, 70u);
}

TEST(ReplicaReadsTest, R3AStaleReplicaShowsThePastAndItsIndexSaysSo) {
  Pair pair;
  pair.leader.acquire(5, 1, "a");
  pair.decide();
  const auto id =
      pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
  const auto reply = decoded(pair.follower.sink.take(id));
  EXPECT_FALSE(reply.names[0].present);
  EXPECT_EQ(reply.shards[0].index, LogIndex{0});
}

TEST(ReplicaReadsTest, R4BoundedAsksTheLeaderAndWaitsUntilThatMuchIsApplied) {
  Pair pair;
  pair.leader.acquire(5, 1, "a");
  pair.decide();
  const auto id = pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Bounded, 50, {}}));
  pair.pass_ms(10);  // The question leaves.
  pair.exchange();
  EXPECT_TRUE(pair.follower.sink.replies.empty());  // The answer names an index that is not here.
  pair.pass_ms(10);
  pair.catch_up();
  const auto reply = decoded(pair.follower.sink.take(id));
  EXPECT_TRUE(reply.names[0].present);
  EXPECT_EQ(reply.shards[0].error, ErrorCode::None);
  EXPECT_LE(reply.shards[0].age_ms, 50u);
  // Within the bound the next one needs nobody.
  const auto again =
      pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Bounded, 50, {}}));
  EXPECT_TRUE(decoded(pair.follower.sink.take(again)).names[0].present);
}

TEST(ReplicaReadsTest, R4ABoundThatCannotBeMetIsAnErrorAtTheBound) {
  Pair pair;
  pair.leader.acquire(5, 1, "a");
  pair.decide();
  pair.catch_up();
  const auto id = pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Bounded, 50, {}}));
  pair.pass_ms(40);
  EXPECT_TRUE(pair.follower.sink.replies.empty());
  pair.pass_ms(10);  // Nobody answered.
  const auto reply = decoded(pair.follower.sink.take(id));
  EXPECT_EQ(reply.shards[0].error, ErrorCode::StalenessExceeded);
  EXPECT_FALSE(reply.names[0].answered);
  // An answer that comes after that is too old for a question of its time, and harms nobody.
  pair.exchange();
  EXPECT_TRUE(pair.follower.sink.replies.empty());
}

TEST(ReplicaReadsTest, R4TheLeaderItselfConfirmsAndHasAgeZero) {
  Pair pair;
  const auto id = pair.leader.send(read_slot(), rows({"a"}, {ReadConsistency::Bounded, 0, {}}));
  EXPECT_TRUE(pair.leader.sink.replies.empty());
  pair.leader.engine.confirm_reads(*pair.leader.service);
  const auto reply = decoded(pair.leader.sink.take(id));
  EXPECT_EQ(reply.shards[0].error, ErrorCode::None);
  EXPECT_EQ(reply.shards[0].age_ms, 0u);
}

TEST(ReplicaReadsTest, R3ALeaderWithoutALeaseAsksItselfHowOldItIs) {
  LockBench bench({NodeId{1}, NodeId{2}, NodeId{3}});
  bench.lead_all();
  bench.engine.lease = false;
  const auto age_ms = [&bench] {
    const auto id = bench.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
    return decoded(bench.sink.take(id)).shards[0].age_ms;
  };
  EXPECT_EQ(age_ms(), protocol::kAgeUnknown);
  bench.pass_ms(10);
  EXPECT_EQ(bench.engine.reads.size(), 1u);
  EXPECT_TRUE(bench.engine.messages.empty());
  bench.pass_ms(20);
  EXPECT_EQ(age_ms(), protocol::kAgeUnknown);  // Not confirmed yet.
  bench.engine.confirm_reads(*bench.service);
  EXPECT_EQ(age_ms(), 20u);  // Since it asked, not since it was told.
  bench.pass_ms(30);
  EXPECT_EQ(age_ms(), 50u);
  bench.engine.lease = true;
  EXPECT_EQ(age_ms(), 0u);
}

// A lease that nobody looked at the clock for may have ended while the process stood still.
struct UntimedLeader {
  UntimedLeader() {
    bench.lead_all();
    bench.engine.timed = false;
  }

  auto ask() {
    return bench.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
  }

  std::uint32_t age_ms(std::uint64_t id) {
    const auto reply = decoded(bench.sink.take(id));
    EXPECT_EQ(reply.shards[0].error, ErrorCode::None);
    return reply.shards[0].age_ms;
  }

  LockBench bench{{NodeId{1}, NodeId{2}, NodeId{3}}};
};

TEST(ReplicaReadsTest, R3ALeaderWhoseLeaseIsNotTimedHasItsRowSayThatItLeads) {
  UntimedLeader leader;
  const auto id = leader.ask();
  EXPECT_TRUE(leader.bench.sink.replies.empty());
  EXPECT_EQ(leader.bench.engine.reads.size(), 1u);
  leader.bench.pass_ms(10);
  leader.bench.engine.confirm_reads(*leader.bench.service);
  EXPECT_EQ(leader.age_ms(id), 0u);
}

TEST(ReplicaReadsTest, R3ARowThatDoesNotAnswerKeepsNoReadWaiting) {
  UntimedLeader leader;
  const auto id = leader.ask();
  leader.bench.pass_ms(101);
  EXPECT_EQ(leader.age_ms(id), protocol::kAgeUnknown);
  leader.bench.engine.confirm_reads(*leader.bench.service);  // Too late for anybody.
}

TEST(ReplicaReadsTest, R3WhoLeadsNoMoreAnswersAsAnyReplica) {
  UntimedLeader leader;
  const auto id = leader.ask();
  leader.bench.engine.confirm_reads(*leader.bench.service,
                                    Status{StatusCode::FailedPrecondition, "replaced"});
  EXPECT_EQ(leader.age_ms(id), protocol::kAgeUnknown);
}

TEST(ReplicaReadsTest, R3WhoseLeadershipIsNotConfirmedKnowsNoAge) {
  LockBench bench({NodeId{1}, NodeId{2}, NodeId{3}});
  bench.lead_all();
  bench.engine.lease = false;
  const auto ask = [&bench] {
    return bench.send(read_slot(), rows({"a"}, {ReadConsistency::Serializable, 0, {}}));
  };
  bench.sink.take(ask());
  bench.pass_ms(10);
  bench.engine.confirm_reads(*bench.service, Status{StatusCode::FailedPrecondition, "replaced"});
  EXPECT_EQ(decoded(bench.sink.take(ask())).shards[0].age_ms, protocol::kAgeUnknown);
  bench.pass_ms(10);
  EXPECT_TRUE(bench.engine.reads.empty());  // Not so soon again,
  bench.pass_ms(300);
  bench.sink.take(ask());
  bench.pass_ms(10);  // but then.
  EXPECT_EQ(bench.engine.reads.size(), 1u);
}

TEST(ReplicaReadsTest, R5MonotonicWaitsForThePositionAndShowsTheWrite) {
  Pair pair;
  const ShardId shard = LockBench::shard_of_name("a");
  protocol::LockAcquire acquire;
  acquire.caller = {SessionId{5}, RequestSequence{1}, RequestSequence{1}};
  acquire.ttl_ms = 1000;
  protocol::RequestSlot slot = protocol::to_slot(acquire);
  slot.shard = shard.value;
  slot.set(protocol::RequestFlag::WriteIndex);
  const auto write = pair.leader.send(slot, "a");
  pair.decide();
  const auto granted = pair.leader.sink.take(write);
  ASSERT_TRUE(granted.slot.has(protocol::ReplyFlag::Indexed));
  const protocol::ShardPosition after{shard, LogIndex{granted.slot.extra}};
  const auto id =
      pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Monotonic, 0, {after}}));
  pair.pass_ms(100);
  EXPECT_TRUE(pair.follower.sink.replies.empty());
  pair.catch_up();
  const auto reply = decoded(pair.follower.sink.take(id));
  EXPECT_EQ(reply.names[0].row.holder, SessionId{5});
  EXPECT_GE(reply.shards[0].index, after.index);
}

TEST(ReplicaReadsTest, R5APositionThatIsNotReachedInTimeIsAnErrorOfItsOwn) {
  Pair pair;
  const protocol::ShardPosition after{LockBench::shard_of_name("a"), LogIndex{99}};
  const auto id =
      pair.follower.send(read_slot(100), rows({"a"}, {ReadConsistency::Monotonic, 0, {after}}));
  pair.pass_ms(70);
  EXPECT_TRUE(pair.follower.sink.replies.empty());
  pair.pass_ms(10);
  EXPECT_EQ(decoded(pair.follower.sink.take(id)).shards[0].error, ErrorCode::IndexNotReached);
}

TEST(ReplicaReadsTest, R1LinearizableConfirmsByARoundAndLeaseDoesNot) {
  Pair pair;
  LockBench& bench = pair.leader;
  const auto strict = bench.send(read_slot(), rows({"a"}, {ReadConsistency::Linearizable, 0, {}}));
  EXPECT_EQ(bench.engine.rounds.size(), 1u);
  EXPECT_TRUE(bench.engine.reads.empty());
  bench.engine.confirm_rounds(*bench.service);
  EXPECT_EQ(decoded(bench.sink.take(strict)).shards[0].age_ms, 0u);
  const auto leased = bench.send(read_slot(), rows({"a"}, {ReadConsistency::Lease, 0, {}}));
  EXPECT_EQ(bench.engine.reads.size(), 1u);
  bench.engine.confirm_reads(*bench.service);
  decoded(bench.sink.take(leased));
  protocol::RequestSlot get;
  get.kind = RequestKind::LockGet;
  get.set(protocol::RequestFlag::Quorum);
  bench.send(get, "a");
  EXPECT_EQ(bench.engine.rounds.size(), 1u);
}

TEST(ReplicaReadsTest, R2AFollowerNamesTheLeaderInsteadOfReading) {
  Pair pair;
  const auto id = pair.follower.send(read_slot(), rows({"a"}, {ReadConsistency::Lease, 0, {}}));
  const auto reply = pair.follower.sink.take(id);
  EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::NotLeader));
  EXPECT_EQ(reply.slot.leader, 1u);
}

TEST(ReplicaReadsTest, R7OneReadOfManyShardsSaysOfEachItsIndex) {
  Pair pair;
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    names.push_back("job/" + std::to_string(i));
    pair.leader.acquire(5, static_cast<std::uint64_t>(i + 1), names.back());
  }
  pair.decide();
  pair.catch_up();
  protocol::LockRead read{{ReadConsistency::Serializable, 0, {}}, ReadQuestion::Verdict, {}};
  for (const std::string& name : names) {
    read.names.push_back({name, FencingToken{77}});
  }
  const auto id = pair.follower.send(read_slot(), protocol::encode_lock_read(read));
  const auto reply = decoded(pair.follower.sink.take(id));
  ASSERT_EQ(reply.names.size(), names.size());
  std::uint64_t applied = 0;
  for (const protocol::ShardAnswer& shard : reply.shards) {
    EXPECT_EQ(shard.error, ErrorCode::None);
    applied += shard.index.value;
  }
  EXPECT_EQ(applied, names.size());  // Each shard's own log, and nothing else in it.
  for (const protocol::NameAnswer& answer : reply.names) {
    EXPECT_TRUE(answer.answered);
    EXPECT_EQ(answer.verdict, protocol::CheckVerdict::Stale);
  }
}

TEST(ReplicaReadsTest, AListOfAReplicaShowsWhatItHoldsAndWhereItStands) {
  Pair pair;
  pair.leader.acquire(5, 1, "a");
  pair.leader.acquire(5, 2, "b");
  pair.decide();
  pair.catch_up();
  protocol::RequestSlot slot = read_slot();
  slot.kind = RequestKind::LockReadList;
  const auto id = pair.follower.send(
      slot, protocol::encode_read_list({{ReadConsistency::Serializable, 0, {}}, {"a", "", 10}}));
  const auto page = protocol::decode_read_page(pair.follower.sink.take(id).payload);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page.value().page.rows.size(), 1u);
  EXPECT_EQ(page.value().page.rows[0].name, "a");
  ASSERT_EQ(page.value().shards.size(), 1u);
  EXPECT_EQ(page.value().shards[0].shard, LockBench::shard_of_name("a"));
}

TEST(ReplicaReadsTest, R4ABoundedListNeedsEveryShard) {
  Pair pair;
  protocol::RequestSlot slot = read_slot();
  slot.kind = RequestKind::LockReadList;
  const auto payload =
      protocol::encode_read_list({{ReadConsistency::Bounded, 50, {}}, {"", "", 10}});
  const auto late = pair.follower.send(slot, payload);
  pair.pass_ms(50);
  EXPECT_EQ(pair.follower.sink.take(late).slot.detail,
            static_cast<std::uint32_t>(ErrorCode::StalenessExceeded));
  const auto id = pair.follower.send(slot, payload);
  pair.pass_ms(10);
  pair.exchange();
  EXPECT_TRUE(protocol::decode_read_page(pair.follower.sink.take(id).payload).ok());
}

TEST(ReplicaReadsTest, QuestionsOfPeersThatMakeNoSenseAreDroppedAndCounted) {
  Pair pair;
  std::vector<std::byte> message(16, std::byte{0});
  message[0] = kReplicaAgesKind;
  pair.leader.service->on_peer_message(NodeId{2}, message);  // Neither question nor answer.
  message[1] = std::byte{1};
  message[4] = std::byte{1};
  pair.leader.service->on_peer_message(NodeId{2}, message);  // Says more shards than it has.
  message.resize(20, std::byte{0xff});
  pair.leader.service->on_peer_message(NodeId{2}, message);  // A shard that is none.
  EXPECT_TRUE(pair.leader.engine.reads.empty());
  EXPECT_TRUE(pair.leader.engine.messages.empty());
}

// A cursor is eight bytes that only the node which made them understands; a client may send any.
TEST(ReplicaReadsTest, AHostileCursorChangesNothingAndStopsNobody) {
  Pair pair;
  for (std::uint64_t i = 1; i <= 8; ++i) {
    pair.leader.acquire(5, i, "job/" + std::to_string(i));
  }
  pair.decide();
  pair.catch_up();
  protocol::RequestSlot slot = read_slot();
  slot.kind = RequestKind::LockReadList;
  const auto ask = [&](const std::string& cursor) {
    return pair.follower.sink.take(pair.follower.send(
        slot,
        protocol::encode_read_list({{ReadConsistency::Serializable, 0, {}}, {"", cursor, 10}})));
  };
  std::vector<std::string> cursors;
  for (std::uint64_t k = 0; k < 2000; ++k) {
    const std::uint64_t drawn = random64(7, k, 0) >> (k % 64);
    cursors.emplace_back(reinterpret_cast<const char*>(&drawn), k % (sizeof(drawn) + 1));
  }
  for (const std::uint64_t edge : {std::uint64_t{0},
                                   std::uint64_t{1},
                                   std::uint64_t{9},
                                   std::uint64_t{10},
                                   ~std::uint64_t{0},
                                   ~std::uint64_t{0} >> 1,
                                   std::uint64_t{0xffff'ffff},
                                   std::uint64_t{0x7fff'ffff}}) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{8}}) {
      cursors.emplace_back(reinterpret_cast<const char*>(&edge), bytes);
    }
  }
  const auto hashes = [&] {
    std::vector<std::uint64_t> all;
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      all.push_back(pair.follower.service->state_hash(ShardId{shard}));
    }
    return all;
  };
  const auto before = hashes();
  for (const std::string& cursor : cursors) {
    const auto reply = ask(cursor);
    if (reply.slot.code == StatusCode::Ok) {
      EXPECT_TRUE(protocol::decode_read_page(reply.payload).ok());
    } else {
      EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::PayloadMalformed));
    }
  }
  EXPECT_EQ(hashes(), before);
  // In the same tick the next one is served: what lies behind the last row cost nothing.
  const auto page = protocol::decode_read_page(ask("").payload);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page.value().page.rows.size(), 8u);
  EXPECT_EQ(pair.follower.service->handlers().reads.held_bytes(), 0u);
}

TEST(ReplicaReadsTest, L15ATokenOfABrokenHoldOfAFreeLockReadsAsFreeOnAnyReplica) {
  Pair pair;
  const auto held = pair.leader.acquire(5, 1, "a");
  pair.decide();
  const std::uint64_t token = pair.leader.sink.take(held).slot.token;
  protocol::RequestSlot slot = pair.leader.slot(RequestKind::LockBreak);
  slot.shard = LockBench::shard_of_name("a").value;
  slot.token = token;
  pair.leader.send(slot, protocol::encode_break({.name = "a", .who = "ann", .reason = "it hangs"}));
  pair.decide();
  pair.catch_up();
  const auto verdict = [&] {
    const auto id =
        pair.follower.send(read_slot(),
                           protocol::encode_lock_read({{ReadConsistency::Serializable, 0, {}},
                                                       ReadQuestion::Verdict,
                                                       {{"a", FencingToken{token}}}}));
    return decoded(pair.follower.sink.take(id)).names.at(0).verdict;
  };
  EXPECT_EQ(verdict(), protocol::CheckVerdict::Free);
  pair.leader.acquire(6, 1, "a");
  pair.decide();
  pair.catch_up();
  EXPECT_EQ(verdict(), protocol::CheckVerdict::Stale);
}

}  // namespace
}  // namespace gcoord::server
