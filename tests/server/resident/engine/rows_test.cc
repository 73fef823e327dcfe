// What a host makes of what its resident node tells: answers, ends of requests, reads, and states
// that come from other hosts. By the twin of three nodes, each with the host's half behind it.
#include "server/resident/engine/rows.h"

#include "common/device/device_errors.h"
#include "ledger/history/memory_store.h"
#include "server/history/history.h"
#include "server/interfaces/log_record.h"
#include "server/resident/engine/probe.h"
#include "server/resident/engine/states.h"
#include "server/resident/engine/use.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

TEST(ResidentRows, EachCookieEndsOnceAndReadsOfOnePassShareAnAnswer) {
  Hosts hosts;
  hosts.lock_and_unlock(3);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  hosts.each[leader].requests->read(hosts.shard(), 1001, consensus::ReadProof::LeaseOrRound);
  hosts.each[leader].requests->read(hosts.shard(), 1002, consensus::ReadProof::LeaseOrRound);
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
  hosts.each[other].requests->read(hosts.shard(), 10, consensus::ReadProof::LeaseOrRound);
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
  hosts.refresh_states(away, 3000, 10);
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
  hosts.refresh_states(away, 2000, 10);
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
  hosts.refresh_states(away, 40'000, 100);
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
void expect_use_counted(StateMachine& service) {
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

// Asks until nothing more is admitted, many under way at once; how many were.
std::uint32_t fill_pools(Hosts& hosts) {
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  auto& requests = *hosts.each[leader].requests;
  std::uint32_t admitted = 0;
  std::uint32_t refused = 0;
  for (std::uint64_t k = 1; k < 4000 && refused < 200; ++k) {
    const std::string name = name_in(hosts.shard(), "lock" + std::to_string(k / 4));
    const std::string text = name + std::string(k % 4 == 1 ? 300 : 0, 'o');
    const locks::HoldOptions ask =
        k % 4 == 1 ? locks::HoldOptions{}
                   : locks::HoldOptions{.flags = locks::kHoldShared, .permits = 1};
    const locks::LockCommand command =
        locks::make_acquire_hold({.acquire = {.session = SessionId{1 + k % 50},
                                              .sequence = RequestSequence{k},
                                              .acked_below = RequestSequence{k},
                                              .name = std::string_view{text}.substr(0, name.size()),
                                              .wait = true,
                                              .ttl_ms = 10'000},
                                  .ask = ask,
                                  .text = text});
    if (requests.may_take(hosts.shard(), command)) {
      requests.command(hosts.shard(), command, ++hosts.cookie);
      ++admitted;
      refused = 0;
    } else {
      ++refused;
      hosts.turns(3);
    }
  }
  return admitted;
}

TEST(ResidentRows, PoolsDoNotRunDryByNotesSharesAndMarksThatAreAdmitted) {
  Hosts hosts({.locks = 2048, .sessions = 2048, .requests = 4096, .name_blocks = 8192});
  EXPECT_GT(fill_pools(hosts), 60u);
  hosts.turns(2000);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  auto& requests = *hosts.each[leader].requests;
  EXPECT_EQ(requests.under_way(), 0u);
  EXPECT_FALSE(requests.may_take(hosts.shard(), acquire("one more", 60, 1)));
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_TRUE(hosts.each[n].failure.ok()) << hosts.each[n].failure.to_string();
    EXPECT_EQ(hosts.world.nodes[n].memory->view().control->abort, 0u);
    EXPECT_TRUE(hosts.each[n].service.failed.empty());
  }
  // What ends something finds room, and brings all of it back.
  for (std::uint64_t session = 1; session <= 50; ++session) {
    while (hosts.ask(hosts.shard(),
                     locks::make_close_session(SessionId{session}, RequestSequence{9000})) ==
               locks::LockCode::SessionClosed &&
           hosts.each[leader].service.locks.registered(hosts.shard(), SessionId{session})) {
    }
  }
  hosts.turns(300);
  EXPECT_TRUE(requests.may_take(hosts.shard(), acquire("one more", 60, 1)));
  EXPECT_EQ(hosts.each[leader].service.locks.usage().name_blocks, 0u);
}

TEST(ResidentRows, WhatALaneOrALogNeverHasRoomForHasNoPlace) {
  const auto breaks = [](std::size_t name_bytes, bool all, std::size_t reason_bytes = 5) {
    static std::string text;
    text = std::string(name_bytes, 'n') + "ann" + std::string(reason_bytes, 'r');
    return locks::make_break_lock({.token = FencingToken{1},
                                   .all = all,
                                   .name_bytes = static_cast<std::uint16_t>(name_bytes),
                                   .who_bytes = 3,
                                   .text = text});
  };
  EXPECT_TRUE(ResidentRequests::has_place(breaks(224, true)));
  EXPECT_FALSE(ResidentRequests::has_place(breaks(225, true)));
  EXPECT_TRUE(ResidentRequests::has_place(breaks(1024, false)));
  EXPECT_FALSE(ResidentRequests::has_place(breaks(1024, false, 6)));
  EXPECT_TRUE(ResidentRequests::has_place(acquire(std::string(1024, 'n'), 1, 1)));
  EXPECT_TRUE(
      ResidentRequests::has_place(locks::make_move_out(std::string(1024, 'n'), ShardId{3})));
}

TEST(ResidentRows, ADeviceThatDiffersFromItsHostIsFoundOutAtOnce) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  const auto& service = hosts.world.nodes[leader].memory->view().service;
  service.stripes[hosts.shard().value / service.rows_per_stripe]
      .shared.tables.shards[hosts.shard().value]
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

// Seen when a second node of three was lost with a million shards: what was decided filled the
// lanes, the answers to the probes found no room, and two seconds after all was done both nodes
// that were left gave their devices up.
TEST(ResidentProbe, AnAnswerThatIsLostIsAskedForAgain) {
  Hosts hosts;
  ResidentProbe probe(kLanes, *hosts.each[0].requests);
  const auto answers = [&hosts](const auto& each) {
    hosts.each[0].requests->push();
    hosts.world.turns(60);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      while (const auto told = hosts.world.nodes[0].memory->pull(lane)) {
        each(lane, told->reply);
      }
    }
  };
  EXPECT_TRUE(probe.refresh(1000).ok());
  answers([](std::uint32_t, const TurnReply&) {});  // Lost.
  EXPECT_TRUE(probe.refresh(1000 + kProbePauseMs).ok());
  const std::uint64_t now = 1000 + kProbeLimitMs;
  answers([&](std::uint32_t lane, const TurnReply& reply) {
    probe.take(lane, reply);
    probe.heard(lane, now);
  });
  EXPECT_TRUE(probe.refresh(now + 1).ok());
  // Nothing is under way, so nothing is overdue.
  EXPECT_TRUE(probe.refresh(now + 2 * kProbeLimitMs).ok());
}

}  // namespace
}  // namespace gcoord::server
