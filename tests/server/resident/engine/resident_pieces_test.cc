// Commands that stand in pieces of the log, where not all goes well: a log that takes a part of
// one, two attempts that run into each other, leaders that change in the middle, rows that came by
// a snapshot. Host and device must say the same of each, and nobody stops.
#include "locks/commands/entry.h"
#include "locks/state/delay.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockCommand;
using locks::LockEntry;

// An acquire with a note. Its text is kept for the whole program, since commands point into it.
LockCommand noted(const std::string& name,
                  std::uint64_t session,
                  std::uint64_t sequence,
                  std::size_t note_bytes,
                  const locks::HoldOptions& ask = {}) {
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(name + std::string(note_bytes, 'o')));
  const std::string_view text = *texts.back();
  return locks::make_acquire_hold({.acquire = {.session = SessionId{session},
                                               .sequence = RequestSequence{sequence},
                                               .name = text.substr(0, name.size()),
                                               .wait = true,
                                               .ttl_ms = 10'000},
                                   .ask = ask,
                                   .text = text});
}

void expect_no_failure(const Hosts& hosts) {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_TRUE(hosts.each[n].failure.ok()) << hosts.each[n].failure.to_string();
    EXPECT_EQ(hosts.world.nodes[n].memory->view().control->abort, 0u);
    EXPECT_EQ(hosts.each[n].service.state_hash(hosts.shard()),
              hosts.each[0].service.state_hash(hosts.shard()));
  }
}

// The log takes the first pieces of a command and refuses the rest, and goes on with the next one:
// pieces of several stand in a row, more than one command has. The device looks at those of its
// command alone, and its host forgot them all: GC7101 on three nodes.
TEST(ResidentPieces, MoreLongCommandsThanTheLogTakesAreAnsweredAndNobodyDiffers) {
  Hosts hosts;
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  Hosts::Host& host = hosts.each[leader];
  std::uint64_t asked = 0;
  for (std::uint64_t round = 1; round <= 400; ++round) {
    const std::uint64_t session = 1 + round % 12;
    const std::string name = name_in(hosts.shard(), "n" + std::string(40 * session, 'm'));
    const LockCommand command = noted(name, session, round, 1 + random64(3, round, 0) % 500);
    if (host.requests->may_take(hosts.shard(), command)) {
      host.requests->command(hosts.shard(), command, ++asked);
    }
    // Nobody else turns for a while, so nothing is decided, and the log is full of what is under
    // way.
    host.requests->push();
    for (std::uint64_t k = random64(3, round, 1) % 8; k > 0; --k) {
      hosts.world.now_ns += kWorldTickNs / 10;
      ASSERT_TRUE(hosts.world.nodes[leader].turn->turn(hosts.world.now_ns).ok());
    }
    hosts.turns(static_cast<std::uint32_t>(random64(3, round, 2) % 6));
  }
  hosts.turns(3000);
  EXPECT_EQ(host.requests->under_way(), 0u);
  EXPECT_EQ(host.service.applied.size() + host.service.failed.size(), asked);
  EXPECT_GT(host.service.applied.size(), 20u);
  EXPECT_GT(host.service.failed.size(), 5u) << "the log had room for all of them";
  expect_no_failure(hosts);
}

class ResidentAttempts : public testing::Test {
 protected:
  void SetUp() override { world_.turns(4000); }

  void TearDown() override {
    world_.turns(300);
    for (const auto& node : world_.nodes) {
      EXPECT_EQ(node.told[shard().value], world_.nodes[0].told[shard().value]);
      EXPECT_EQ(node.copy->state_hash(shard()), world_.nodes[0].copy->state_hash(shard()));
    }
  }

  // As if the log had taken the pieces of one attempt, and of the next one what is behind them.
  bool taken(const LockCommand& first, const LockCommand& second) {
    auto pieces = locks::entries_of(first);
    pieces.pop_back();
    world_.push(world_.leader_of(shard()), shard(), pieces);
    world_.skip_requests(1 + pieces.size());
    return world_.ask(shard(), {locks::entries_of(second).back()}).whole;
  }

  static ShardId shard() { return shard_of_name("a"); }

  ResidentWorld world_{41};
};

// A client that uses a sequence twice, for two names: a name that is neither of them has a hash
// that is not its own, on which host and device differ.
TEST_F(ResidentAttempts, PiecesOfOneNeverStandBeforeAnother) {
  const std::string one = name_in(shard(), "n" + std::string(60, 'x'));
  const std::string other = name_in(shard(), "n" + std::string(60, 'y'));
  const auto with = [](const std::string& name) {
    return locks::make_acquire(
        {.session = SessionId{5}, .sequence = RequestSequence{1}, .name = name, .ttl_ms = 10'000});
  };
  EXPECT_FALSE(taken(with(one), with(other)));
  EXPECT_FALSE(taken(with(one), with(one)));
  const LockCommand hold = noted("a", 5, 2, 90);
  EXPECT_FALSE(taken(hold, hold));
  EXPECT_TRUE(world_.ask(shard(), hold).whole);
  EXPECT_TRUE(world_.ask(shard(), with(other)).whole);
}

// What is asked again of the next leader is whole there, and the rest of the first attempt nothing.
TEST_F(ResidentAttempts, ALeaderThatChangesInTheMiddleOfATextLeavesNoTraceOfIt) {
  const std::vector<LockEntry> entries = locks::entries_of(noted("a", 5, 1, 300));
  ASSERT_GT(entries.size(), 6u);
  const auto middle = entries.begin() + 4;
  const std::uint32_t before = world_.leader_of(shard());
  world_.push(before, shard(), std::vector<LockEntry>(entries.begin(), middle));
  world_.push_transfer(before, shard(), NodeId{(before + 1) % kTurnNodes + 1});
  world_.turns(2000);
  ASSERT_EQ(world_.leader_of(shard()), (before + 1) % kTurnNodes);
  EXPECT_FALSE(world_.ask(shard(), std::vector<LockEntry>(middle, entries.end())).whole);
  const Answer again = world_.ask(shard(), entries);
  EXPECT_TRUE(again.whole);
  EXPECT_EQ(again.decision.code, LockCode::Granted);
  EXPECT_FALSE(again.decision.replayed);
}

// What was held, noted, delayed and broken before and meanwhile, where the rows came by a snapshot
// and their host applies alone; and when it leads.
TEST(ResidentPieces, AHostThatAppliesAloneHasTextsAndWhatTheyLeft) {
  Hosts hosts;
  hosts.name = "a";
  EXPECT_EQ(hosts.ask(hosts.shard(), noted("a", 9, 1, 200, {.delay_ms = 5000})), LockCode::Granted);
  const std::uint32_t away = (hosts.leader_of(hosts.shard()) + 1) % kTurnNodes;
  const auto change = [&](std::uint64_t sequence, std::size_t value_bytes) {
    const std::string value(value_bytes, 'v');
    const auto lock =
        hosts.each[hosts.leader_of(hosts.shard())].service.locks.get(hosts.shard(), hash_name("a"));
    ASSERT_TRUE(lock.has_value());
    EXPECT_EQ(hosts.ask(hosts.shard(),
                        locks::make_proclaim({.session = SessionId{9},
                                              .sequence = RequestSequence{sequence},
                                              .acked_below = RequestSequence{sequence},
                                              .name_hash = hash_name("a"),
                                              .token = lock->token},
                                             value)),
              LockCode::Proclaimed);
  };
  hosts.world.paused = away;
  hosts.turns(4000);
  for (std::uint64_t sequence = 2; sequence <= 30; ++sequence) {
    change(sequence, 17 * sequence);
  }
  hosts.world.paused = kTurnNodes;
  hosts.refresh_states(away, 40'000, 100);
  ASSERT_EQ(hosts.each[away].rows->counts().absent, 1u);
  ASSERT_TRUE(hosts.each[away].rows->wants().empty());
  change(31, 300);
  hosts.each[hosts.leader_of(hosts.shard())].requests->transfer(hosts.shard(), NodeId{away + 1});
  hosts.turns(300);
  ASSERT_EQ(hosts.leader_of(hosts.shard()), away);
  change(32, 512);
  const LockCommand reads = noted("a", 4, 1, 0, {.flags = locks::kHoldShared, .permits = 1});
  EXPECT_EQ(hosts.ask(hosts.shard(), reads), LockCode::Waiting);
  hosts.turns(300);
  expect_no_failure(hosts);
  for (const Hosts::Host& host : hosts.each) {
    EXPECT_EQ(host.service.locks.get(hosts.shard(), hash_name("a"))->note, std::string(512, 'v'));
  }
}

}  // namespace
}  // namespace gcoord::server
