// What a host makes of what its resident node tells: answers, ends of requests, reads, and states
// that come from other hosts. By the twin of three nodes, each with the host's half behind it.
#include "server/resident_rows.h"

#include "common/device_errors.h"
#include "ledger/memory_history_store.h"
#include "locks/lock_snapshot.h"
#include "resident_world.h"
#include "server/log_record.h"
#include "server/node_history.h"
#include "server/resident_probe.h"
#include "server/resident_states.h"
#include "server/resident_use.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 24;
constexpr std::uint32_t kLanes = 3;

// The lock tables as a service, and what became of each cookie.
class CopyService final : public Service {
 public:
  void apply(const AppliedEntry& entry) override {
    if (entry.payload.empty()) {
      return;
    }
    std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
    locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
    const auto reply =
        locks.apply_bytes(entry.shard, entry.index, record_body(entry.payload), Tick{1}, events);
    if (entry.cookie != 0) {
      applied[entry.cookie] = reply.code;
    }
  }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId) override {
    EXPECT_TRUE(failed.emplace(cookie, status.code()).second);
  }

  void on_read(std::uint64_t cookie, const Status& status, NodeId) override {
    EXPECT_TRUE(reads.emplace(cookie, status.code()).second);
  }

  void on_role(ShardId shard, consensus::Role role, Term, NodeId) override {
    EXPECT_TRUE(role != consensus::Role::Leader || !leads[shard.value]) << "told twice";
    leads[shard.value] = role == consensus::Role::Leader;
  }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    bytes = locks.serialize(shard);
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    return locks.deserialize(shard, bytes, Tick{1});
  }

  bool plausible(ShardId, std::span<const std::byte> bytes) const override {
    return locks::parse_snapshot(bytes).ok();
  }

  std::uint64_t state_hash(ShardId shard) const override { return locks.state_hash(shard); }

  void on_loop_gap(std::uint64_t) override {}

  locks::LockCpu locks{locks::LockOptions{.shard_count = kShards, .index_seed = 5}};
  std::map<std::uint64_t, locks::LockCode> applied;
  std::map<std::uint64_t, StatusCode> failed;
  std::map<std::uint64_t, StatusCode> reads;
  std::map<std::uint32_t, bool> leads;  // As the service was told.
};

// The host's halves of the three nodes of a world, whose own copies are not used.
struct Hosts {
  struct Host {
    CopyService service;
    std::unique_ptr<ResidentRequests> requests;
    std::unique_ptr<ResidentRows> rows;
    std::unique_ptr<ResidentStates> states;
    Status failure;
  };

  // Lives do not end here, so that acknowledgements count from the first one on.
  Hosts() : world(21, {}, false, 256, false, false) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      Host& host = each[n];
      host.requests = std::make_unique<ResidentRequests>(*world.nodes[n].memory);
      host.rows =
          std::make_unique<ResidentRows>(*world.nodes[n].memory, host.service, *host.requests);
      std::vector<NodeId> peers;
      for (std::uint32_t p = 0; p < kTurnNodes; ++p) {
        if (p != n) {
          peers.push_back(NodeId{p + 1});
        }
      }
      host.states = std::make_unique<ResidentStates>(
          peers, *host.rows, host.service, [this, n](NodeId to, auto message) {
            if (lose_messages == 0) {
              sent.push_back({n, to.value - 1, {message.begin(), message.end()}});
            } else {
              --lose_messages;
            }
          });
    }
    turns(4000);
  }

  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      for (Host& host : each) {
        host.requests->push();
      }
      world.turns(1);
      for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
        listen(n);
      }
      deliver();
    }
  }

  void listen(std::uint32_t n) {
    each[n].rows->look();
    hear(n);
    each[n].rows->follow();
  }

  void hear(std::uint32_t n) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      while (const auto told = world.nodes[n].memory->pull(lane)) {
        const Status taken = each[n].rows->take(lane, *told);
        each[n].failure = taken.ok() ? each[n].failure : taken;
      }
    }
  }

  void deliver() {
    const auto messages = std::exchange(sent, {});
    for (const Message& message : messages) {
      EXPECT_TRUE(ResidentStates::is_message(message.bytes));
      EXPECT_TRUE(
          each[message.to].states->on_message(NodeId{message.from + 1}, message.bytes).ok());
    }
  }

  std::uint32_t leader_of(ShardId shard) const {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (n != world.paused && each[n].rows->view(shard).role == consensus::Role::Leader) {
        return n;
      }
    }
    return kTurnNodes;
  }

  locks::LockCode ask(ShardId shard, const locks::LockCommand& command) {
    const std::uint32_t n = leader_of(shard);
    EXPECT_LT(n, kTurnNodes);
    each[n].requests->command(shard, command, ++cookie);
    for (std::uint32_t k = 0; k < 1000 && !each[n].service.applied.contains(cookie); ++k) {
      turns(1);
    }
    return each[n].service.applied[cookie];
  }

  void lock_and_unlock(std::uint32_t times) {
    for (std::uint32_t k = 0; k < times; ++k) {
      sequence += 2;
      const locks::LockCommand take =
          locks::make_acquire({.session = SessionId{5},
                               .sequence = RequestSequence{sequence},
                               .acked_below = RequestSequence{sequence - 1},
                               .name = name,
                               .ttl_ms = 10'000});
      EXPECT_EQ(ask(shard(), take), locks::LockCode::Granted);
      const auto lock = each[leader_of(shard())].service.locks.get(shard(), hash_name(name));
      ASSERT_TRUE(lock.has_value());
      EXPECT_EQ(ask(shard(),
                    locks::make_release({.session = SessionId{5},
                                         .sequence = RequestSequence{sequence + 1},
                                         .acked_below = RequestSequence{sequence},
                                         .name_hash = hash_name(name),
                                         .token = lock->token})),
                locks::LockCode::Released);
    }
  }

  ShardId shard() const { return shard_of(hash_name(name), kShards); }

  struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::byte> bytes;
  };

  ResidentWorld world;
  Host each[kTurnNodes];
  std::vector<Message> sent;
  std::uint32_t lose_messages = 0;
  std::string name = "n";
  std::uint64_t cookie = 0;
  std::uint64_t sequence = 1;
};

TEST(ResidentRows, EachCookieEndsOnceAndReadsOfOnePassShareABarrier) {
  Hosts hosts;
  hosts.lock_and_unlock(3);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  hosts.each[leader].requests->barrier(hosts.shard(), 1001);
  hosts.each[leader].requests->barrier(hosts.shard(), 1002);
  EXPECT_EQ(hosts.each[leader].requests->under_way(), 1u);
  hosts.turns(200);
  EXPECT_EQ(hosts.each[leader].service.reads.at(1001), StatusCode::Ok);
  EXPECT_EQ(hosts.each[leader].service.reads.at(1002), StatusCode::Ok);
  EXPECT_EQ(hosts.each[leader].requests->under_way(), 0u);
  for (const auto& host : hosts.each) {
    EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
    EXPECT_EQ(host.rows->counts().compared, 6u);
  }
}

TEST(ResidentRows, AFollowerIsRefusedByItsDevice) {
  Hosts hosts;
  const std::uint32_t other = (hosts.leader_of(hosts.shard()) + 1) % kTurnNodes;
  hosts.each[other].requests->command(
      hosts.shard(), locks::make_register_session(SessionId{1}, 1000), 9);
  hosts.each[other].requests->barrier(hosts.shard(), 10);
  hosts.turns(200);
  EXPECT_EQ(hosts.each[other].service.failed.at(9), StatusCode::FailedPrecondition);
  EXPECT_EQ(hosts.each[other].service.reads.at(10), StatusCode::FailedPrecondition);
}

TEST(ResidentRows, WhatWasUnderWayWhenLeadershipEndsIsUnknown) {
  Hosts hosts;
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  hosts.world.paused = leader;
  hosts.each[leader].requests->command(
      hosts.shard(), locks::make_register_session(SessionId{1}, 1000), 9);
  hosts.turns(8000);
  ASSERT_LT(hosts.leader_of(hosts.shard()), kTurnNodes);
  hosts.world.paused = kTurnNodes;
  hosts.turns(3000);
  EXPECT_EQ(hosts.each[leader].requests->under_way(), 0u);
  EXPECT_EQ(
      hosts.each[leader].service.failed.count(9) + hosts.each[leader].service.applied.count(9), 1u);
}

// The table of leaders is ahead of the ring: a shard is known to be led here before the copy has
// what the leaders before decided, and then nothing may be answered from the copy alone.
TEST(ResidentRows, ALeaderHasNoLeaseBeforeItsFirstEntryIsInTheCopy) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const ShardId shard = hosts.shard();
  const std::uint32_t before = hosts.leader_of(shard);
  const std::uint32_t after = (before + 1) % kTurnNodes;
  EXPECT_TRUE(hosts.each[before].rows->view(shard).lease);
  hosts.each[before].requests->transfer(shard, NodeId{after + 1});
  hosts.each[before].requests->push();
  Hosts::Host& host = hosts.each[after];
  const LogIndex had = host.rows->view(shard).applied;
  // Its ring is not read, however long its device has led.
  hosts.world.turns(300);
  host.rows->look();
  EXPECT_TRUE(host.rows->follow());
  EXPECT_EQ(host.rows->view(shard).role, consensus::Role::Leader);
  EXPECT_TRUE(host.service.leads[shard.value]);
  EXPECT_FALSE(host.rows->view(shard).lease);
  hosts.hear(after);
  EXPECT_GT(host.rows->view(shard).applied, had);
  EXPECT_TRUE(host.rows->view(shard).lease);
  hosts.turns(300);
  EXPECT_FALSE(hosts.each[before].service.leads[shard.value]);
  EXPECT_FALSE(hosts.each[before].rows->view(shard).lease);
}

// What was told before a node ceased to lead is answered, although the table says already that it
// leads no more; what was not decided ends once, as unknown.
TEST(ResidentRows, WhatWasDecidedBeforeLeadershipEndedIsAnswered) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  host.requests->command(shard, locks::make_register_session(SessionId{1}, 1000), 901);
  host.requests->push();
  EXPECT_TRUE(host.requests->awaits(host.requests->lane_of(shard)));
  hosts.world.turns(300);
  host.requests->transfer(shard, NodeId{(leader + 1) % kTurnNodes + 1});
  host.requests->push();
  hosts.world.turns(300);
  host.requests->barrier(shard, 902);  // Too late, and nobody here knows yet.
  hosts.listen(leader);
  EXPECT_EQ(host.service.applied.count(901), 1u);
  EXPECT_EQ(host.service.failed.count(901), 0u);
  EXPECT_EQ(host.service.reads.at(902), StatusCode::Unavailable);
  EXPECT_EQ(host.requests->under_way(), 0u);
  EXPECT_FALSE(host.requests->awaits(host.requests->lane_of(shard)));
}

// Leadership that was lost and won between two looks ends what was under way, and the service hears
// of both.
TEST(ResidentRows, LeadershipThatWasLostAndWonBetweenTwoLooksEnds) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  const Term before = host.rows->view(shard).term;
  for (const std::uint32_t to : {(leader + 1) % kTurnNodes, leader}) {
    TurnRequest request;
    request.shard = shard;
    request.tag = kTransferTag;
    request.word[0] = to + 1;
    const std::uint32_t from = to == leader ? (leader + 1) % kTurnNodes : leader;
    ASSERT_TRUE(hosts.world.nodes[from].memory->push(
        stripe_of(hosts.world.nodes[from].memory->options().shape, shard), &request, 1));
    hosts.world.turns(600);
  }
  host.requests->barrier(shard, 903);
  EXPECT_EQ(host.rows->view(shard).term, before);
  hosts.listen(leader);
  EXPECT_GT(host.rows->view(shard).term, before);
  EXPECT_EQ(host.rows->view(shard).role, consensus::Role::Leader);
  EXPECT_TRUE(host.service.leads[shard.value]);
  EXPECT_EQ(host.service.reads.at(903), StatusCode::Unavailable);
  EXPECT_TRUE(host.rows->view(shard).lease);
}

// The node was away for longer than its log reaches back, and messages are lost on the way, too.
TEST(ResidentRows, AStateThatASnapshotReplacedComesFromAnotherHost) {
  Hosts hosts;
  hosts.lock_and_unlock(2);
  const std::uint32_t away = (hosts.leader_of(hosts.shard()) + 1) % kTurnNodes;
  hosts.world.paused = away;
  hosts.turns(4000);
  hosts.lock_and_unlock(100);
  hosts.world.paused = kTurnNodes;
  hosts.turns(4000);
  ASSERT_EQ(hosts.each[away].rows->wants().size(), 1u);
  EXPECT_EQ(hosts.each[away].rows->whole_at(hosts.shard()), LogIndex{});
  hosts.lock_and_unlock(2);
  hosts.lose_messages = 2;
  for (std::uint64_t now_ms = 1000; now_ms < 3000; now_ms += 100) {
    hosts.each[away].states->refresh(now_ms);
    hosts.turns(10);
  }
  EXPECT_TRUE(hosts.each[away].rows->wants().empty());
  EXPECT_EQ(hosts.each[away].states->installed_count(), 1u);
  EXPECT_EQ(hosts.each[away].rows->counts().absent, 1u);
  hosts.lock_and_unlock(2);
  hosts.turns(300);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  EXPECT_EQ(hosts.each[away].service.state_hash(hosts.shard()),
            hosts.each[leader].service.state_hash(hosts.shard()));
  EXPECT_TRUE(hosts.each[away].failure.ok());
}

// Found on a GPU whose processes take turns in slices of time: the state came while the device was
// still telling what the state has already.
TEST(ResidentRows, AStateAheadOfTheDeviceCoversWhatIsToldLater) {
  Hosts hosts;
  const std::uint32_t away = (hosts.leader_of(hosts.shard()) + 1) % kTurnNodes;
  hosts.world.paused = away;
  hosts.turns(4000);
  hosts.lock_and_unlock(100);
  hosts.world.paused = kTurnNodes;
  for (std::uint32_t k = 0; k < 4000 && hosts.each[away].rows->wants().empty(); ++k) {
    hosts.turns(1);
  }
  ASSERT_EQ(hosts.each[away].rows->wants().size(), 1u);
  hosts.world.paused = away;
  hosts.lock_and_unlock(3);
  for (std::uint64_t now_ms = 1000; now_ms < 2000; now_ms += 100) {
    hosts.each[away].states->refresh(now_ms);
    hosts.turns(10);
  }
  EXPECT_EQ(hosts.each[away].states->installed_count(), 1u);
  const LogIndex ahead = hosts.each[away].rows->view(hosts.shard()).applied;
  hosts.world.paused = kTurnNodes;
  hosts.turns(4000);
  hosts.lock_and_unlock(1);
  hosts.turns(300);
  EXPECT_TRUE(hosts.each[away].failure.ok()) << hosts.each[away].failure.to_string();
  EXPECT_GT(hosts.each[away].rows->view(hosts.shard()).applied, ahead);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  EXPECT_EQ(hosts.each[away].service.state_hash(hosts.shard()),
            hosts.each[leader].service.state_hash(hosts.shard()));
}

// A device tells no room of shards that it does not have: their host led them and refused
// everybody.
TEST(ResidentRows, AHostThatAppliesAloneAdmitsCommandsWhenItLeads) {
  Hosts hosts;
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  const std::uint32_t away = (leader + 1) % kTurnNodes;
  hosts.world.paused = away;
  hosts.turns(4000);
  hosts.lock_and_unlock(100);
  hosts.world.paused = kTurnNodes;
  for (std::uint64_t now_ms = 1000; now_ms < 40'000; now_ms += 100) {
    hosts.each[away].states->refresh(now_ms);
    hosts.turns(100);
  }
  ASSERT_EQ(hosts.each[away].rows->counts().absent, 1u);
  ASSERT_TRUE(hosts.each[away].rows->wants().empty());
  hosts.each[hosts.leader_of(hosts.shard())].requests->transfer(hosts.shard(), NodeId{away + 1});
  hosts.turns(300);
  ASSERT_EQ(hosts.leader_of(hosts.shard()), away);
  hosts.lock_and_unlock(40);
  const locks::LockCommand next = acquire("another", 9, 1);
  EXPECT_TRUE(hosts.each[away].requests->may_take(hosts.shard(), next));
}

// So many locks, and then none: what is counted is never less, and not much more.
void expect_use_counted(Service& service) {
  ResidentUse use(2, service);
  const ShardId shard{4};
  use.measure(1, shard);
  std::uint64_t index = 0;
  const auto apply = [&](const locks::LockCommand& command) {
    std::vector<std::byte> bytes;
    bytes.reserve(128);
    put_record_header(bytes, {.kind = RecordKind::LockCommand});
    locks::encode(command, bytes);
    service.apply({.shard = shard, .index = LogIndex{++index}, .payload = bytes});
    use.add(1, shard, locks::demand_of(command));
  };
  for (std::uint64_t k = 1; k <= 300; ++k) {
    apply(acquire("lock" + std::to_string(k), 100 + k, 1));
    ASSERT_GE(use.of_lane(1), k);
    ASSERT_LE(use.of_lane(1), k + k / 4 + 16);
  }
  for (std::uint64_t k = 1; k <= 300; ++k) {
    apply(locks::make_close_session(SessionId{100 + k}, RequestSequence{9}));
  }
  EXPECT_LE(use.of_lane(1), 90u);
  EXPECT_EQ(use.of_lane(0), 0u);
}

TEST(ResidentRows, WhatShardsTakeElsewhereIsCounted) {
  CopyService service;
  expect_use_counted(service);
}

// Whose bytes have a head before those of the locks.
TEST(ResidentRows, WhatShardsTakeElsewhereIsCountedBehindALedgerToo) {
  CopyService copy;
  ledger::HistoryMedium medium;
  NodeHistoryOptions options;
  options.shard_count = kShards;
  options.driver = ledger::StorageDriver::Owner;
  NodeHistory history(std::move(options), copy);
  ASSERT_TRUE(history.open(ledger::open_memory_history_store(medium)).ok());
  expect_use_counted(history.service());
}

TEST(ResidentRows, ADeviceThatDiffersFromItsHostIsFoundOutAtOnce) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  const auto& service = hosts.world.nodes[leader].memory->view().service;
  service.stripes[hosts.shard().value / service.rows_per_stripe]
      .batch.tables.shards[hosts.shard().value]
      .token_last += 1;
  hosts.each[leader].requests->command(
      hosts.shard(), locks::make_register_session(SessionId{77}, 1000), 900);
  hosts.turns(200);
  EXPECT_EQ(hosts.each[leader].failure.detail(), kDeviceFailed);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_EQ(hosts.each[n].failure.ok(), n != leader);
  }
}

TEST(ResidentRows, MessagesOfStatesThatCannotBeAreDroppedAndCounted) {
  Hosts hosts;
  std::vector<std::byte> message(40, std::byte{0xff});
  for (const std::byte kind : {kStateAskKind, kStateKind}) {
    message.front() = kind;
    EXPECT_TRUE(hosts.each[0].states->on_message(NodeId{2}, message).ok());
  }
  EXPECT_EQ(hosts.each[0].states->dropped_count(), 2u);
  EXPECT_FALSE(ResidentStates::is_message(std::span{message}.first(31)));
}

TEST(ResidentProbe, ALaneThatDoesNotAnswerIsAnOverrun) {
  Hosts hosts;
  ResidentProbe probe(kLanes, *hosts.each[0].requests);
  EXPECT_TRUE(probe.refresh(1000).ok());
  hosts.each[0].requests->push();
  hosts.world.turns(60);  // A lane looks at its clients now and then.
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    while (const auto told = hosts.world.nodes[0].memory->pull(lane)) {
      probe.take(lane, told->reply);
    }
  }
  EXPECT_TRUE(probe.refresh(1000 + kProbePauseMs).ok());
  EXPECT_TRUE(probe.refresh(1000 + kProbePauseMs + kProbeLimitMs).ok());
  EXPECT_EQ(probe.refresh(1001 + kProbePauseMs + kProbeLimitMs).detail(), kDeviceOverrun);
}

// Seen when a million shards were led at once in durable mode: requests waited for seconds behind
// what was stored, and a device that worked all the time was given up.
TEST(ResidentProbe, ALaneThatSaysAnythingLives) {
  Hosts hosts;
  ResidentProbe probe(kLanes, *hosts.each[0].requests);
  EXPECT_TRUE(probe.refresh(1000).ok());
  for (std::uint64_t now = 1000; now < 1000 + 4 * kProbeLimitMs; now += kProbeLimitMs / 2) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      probe.heard(lane, now);
    }
    EXPECT_TRUE(probe.refresh(now).ok());
  }
  EXPECT_FALSE(probe.refresh(1001 + 5 * kProbeLimitMs).ok());
}

}  // namespace
}  // namespace gcoord::server
