// Locks that move between shards of three resident nodes (L19): what their devices and hosts make
// of it, and a lock service of the host's turn that applies the same commands.
#include "locks/commands/entry.h"
#include "locks/commands/move_command.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockCommand;
using locks::LockCommandKind;
using locks::Residence;

constexpr std::uint32_t kWaiters = 100;
constexpr std::uint64_t kHolder = 1000;

class ResidentMoves : public testing::Test {
 protected:
  ResidentMoves() { hosts_.name = "jobs/moved"; }

  ShardId home() const { return hosts_.shard(); }

  ShardId other(std::uint32_t k = 1) const { return ShardId{(home().value + k) % kShards}; }

  LockCommand acquire(std::uint64_t session, std::uint64_t sequence = 1) const {
    return locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .name = hosts_.name,
                                .wait = true,
                                .ttl_ms = 10'000});
  }

  LockCommand release(std::uint64_t session, std::uint64_t sequence, FencingToken token) const {
    return locks::make_release({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .name_hash = hash_name(hosts_.name),
                                .token = token});
  }

  // The lock is held, and so many wait for it.
  void queue_up(std::uint32_t waiters) {
    ASSERT_EQ(hosts_.ask(home(), acquire(kHolder)), LockCode::Granted);
    for (std::uint32_t k = 0; k < waiters; ++k) {
      ASSERT_EQ(hosts_.ask(home(), acquire(kHolder + 1 + k)), LockCode::Waiting) << k;
    }
  }

  const locks::LockCpu& tables(ShardId shard) const {
    return hosts_.each[hosts_.leader_of(shard)].service.locks;
  }

  // What a leader sends to the other shard; its text is kept.
  LockCommand arriving(ShardId from) {
    const auto departed = tables(from).departed(from);
    EXPECT_EQ(departed.size(), 1u);
    const locks::DepartedLock& lock = departed.front();
    texts_.push_back(std::make_unique<std::string>(lock.text));
    LockCommand command = locks::make_move_in({.from = from,
                                               .number = lock.number,
                                               .token = lock.token,
                                               .token_last = lock.token_last,
                                               .name_bytes = lock.name_bytes,
                                               .text = *texts_.back()});
    command.flags = locks::kMoveInLapses;
    return command;
  }

  void move(ShardId from, ShardId to) {
    ASSERT_EQ(hosts_.ask(from, locks::make_move_out(hosts_.name, to)), LockCode::MovedOut);
    const LockCommand in = arriving(from);
    ASSERT_EQ(hosts_.ask(to, in), LockCode::MovedIn);
    ASSERT_EQ(
        hosts_.ask(from, locks::make_move_done(hash_name(hosts_.name), locks::move_number(in))),
        LockCode::MoveSealed);
  }

  std::optional<locks::HeldLock> held(ShardId shard) const {
    return tables(shard).get(shard, hash_name(hosts_.name));
  }

  // Devices and hosts have compared each entry by now (ResidentRows::compare).
  void expect_all_agree() {
    hosts_.turns(500);
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const Hosts::Host& host = hosts_.each[n];
      EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
      EXPECT_EQ(hosts_.world.nodes[n].memory->view().control->abort, 0u);
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        EXPECT_EQ(host.service.state_hash(ShardId{shard}),
                  hosts_.each[0].service.state_hash(ShardId{shard}))
            << n << " " << shard;
      }
    }
  }

  Hosts hosts_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

TEST_F(ResidentMoves, L19AHeldLockMovesWithItsQueueAndGoesOnInTheOtherShard) {
  queue_up(kWaiters);
  const FencingToken token = held(home())->token;
  move(home(), other());
  EXPECT_FALSE(held(home()).has_value());
  ASSERT_TRUE(held(other()).has_value());
  EXPECT_EQ(held(other())->token, token);
  EXPECT_EQ(held(other())->waiter_count, kWaiters);
  EXPECT_EQ(hosts_.ask(home(), acquire(5)), LockCode::Moved);
  FencingToken last = token;
  ASSERT_EQ(hosts_.ask(other(), release(kHolder, 2, token)), LockCode::Released);
  for (std::uint32_t k = 0; k < kWaiters; ++k) {
    const std::uint64_t session = kHolder + 1 + k;
    ASSERT_EQ(hosts_.ask(other(), acquire(session)), LockCode::Granted) << k;
    const auto lock = held(other());
    ASSERT_EQ(lock->holder, SessionId{session});
    EXPECT_GT(lock->token, last);
    last = lock->token;
    ASSERT_EQ(hosts_.ask(other(), release(session, 2, last)), LockCode::Released) << k;
  }
  expect_all_agree();
}

TEST_F(ResidentMoves, L19AMoveInIsOneCommandHoweverManyItBringsAndHowOftenItIsSent) {
  queue_up(locks::kMoveWaitersMax - 1);
  ASSERT_EQ(hosts_.ask(home(), locks::make_move_out(hosts_.name, other())), LockCode::MovedOut);
  const LockCommand in = arriving(home());
  EXPECT_GT(locks::entries_of(in).size(), locks::kPiecesMax + 20u);
  for (std::uint32_t k = 0; k < 6; ++k) {
    EXPECT_EQ(hosts_.ask(other(), in), LockCode::MovedIn);
  }
  EXPECT_EQ(held(other())->waiter_count, locks::kMoveWaitersMax - 1);
  expect_all_agree();
}

// Shards of one stripe, whose members would need the same memory in one turn; and home again.
TEST_F(ResidentMoves, L19ALockGoesFromShardToShardAndHome) {
  queue_up(3);
  const FencingToken token = held(home())->token;
  for (const std::uint32_t k : {1u, 2u, 3u, 9u}) {
    move(home(), other(k));
    EXPECT_EQ(held(other(k))->token, token);
    move(other(k), home());
    EXPECT_EQ(held(home())->waiter_count, 3u);
  }
  // Nobody asked after the places that came along.
  const auto places = tables(home()).unclaimed(home());
  ASSERT_EQ(places.size(), 3u);
  for (const locks::OrphanedWait& place : places) {
    EXPECT_EQ(hosts_.ask(home(), locks::make_move_lapse(place.session, place.sequence, place.name)),
              LockCode::WaitCancelled);
  }
  EXPECT_EQ(held(home())->waiter_count, 0u);
  expect_all_agree();
}

// The log of a device has half of a MoveIn when its page is full: what was decided of it stays.
TEST_F(ResidentMoves, L19APageThatIsFullKeepsThePiecesOfAMoveInUntilItsEnd) {
  const ShardId home_shard = home();
  const std::string moved = std::exchange(hosts_.name, name_in(other(), "n"));
  hosts_.lock_and_unlock(15);
  hosts_.name = moved;
  ASSERT_EQ(home(), home_shard);
  queue_up(locks::kMoveWaitersMax - 1);
  ASSERT_EQ(hosts_.ask(home(), locks::make_move_out(hosts_.name, other())), LockCode::MovedOut);
  const auto entries = locks::entries_of(arriving(home()));
  const std::uint32_t leader = hosts_.leader_of(other());
  ResidentWorld& world = hosts_.world;
  // A few at a time, so that each part is decided and the page is forgotten meanwhile.
  for (std::size_t at = 0; at < entries.size(); at += 7) {
    const auto end = std::min(entries.size(), at + 7);
    world.push(leader,
               other(),
               std::vector<locks::LockEntry>(entries.begin() + static_cast<std::ptrdiff_t>(at),
                                             entries.begin() + static_cast<std::ptrdiff_t>(end)));
    hosts_.turns(200);
  }
  EXPECT_TRUE(held(other()).has_value());
  expect_all_agree();
}

// A node that was away gets the rows by a snapshot, so its host applies alone: it lets requests for
// names pass whose home is another shard.
TEST_F(ResidentMoves, L19ANodeThatWasAwayTakesRequestsForMovedLocks) {
  const std::uint32_t away = (hosts_.leader_of(home()) + 1) % kTurnNodes;
  hosts_.world.paused = away;
  hosts_.turns(3000);
  queue_up(4);
  move(home(), other());
  hosts_.lock_and_unlock(0);
  const FencingToken token = held(other())->token;
  hosts_.world.paused = kTurnNodes;
  hosts_.turns(3000);
  hosts_.refresh_states(away, 3000, 60);
  ASSERT_EQ(hosts_.ask(other(), release(kHolder, 2, token)), LockCode::Released);
  ASSERT_EQ(hosts_.ask(other(), acquire(kHolder + 1)), LockCode::Granted);
  expect_all_agree();
}

TEST_F(ResidentMoves, L19OneMoveInIsUnderWayInALaneBesideEverythingElse) {
  queue_up(kWaiters);
  ASSERT_EQ(hosts_.ask(home(), locks::make_move_out(hosts_.name, other())), LockCode::MovedOut);
  const LockCommand in = arriving(home());
  ResidentRequests& requests = *hosts_.each[hosts_.leader_of(other())].requests;
  EXPECT_TRUE(ResidentRequests::has_place(in));
  std::uint64_t asked = 0;
  while (requests.may_take(other(), acquire(7, asked + 1))) {
    ++asked;
    requests.command(other(), acquire(7, asked), 100'000 + asked);
  }
  EXPECT_EQ(asked, kLaneWeightMax);
  EXPECT_TRUE(requests.may_take(other(), in));
  requests.command(other(), in, 200'000);
  EXPECT_FALSE(requests.may_take(other(), in));
  hosts_.turns(2000);
  EXPECT_EQ(requests.under_way(), 0u);
  EXPECT_TRUE(requests.may_take(other(), in));
  expect_all_agree();
}

}  // namespace
}  // namespace gcoord::server
