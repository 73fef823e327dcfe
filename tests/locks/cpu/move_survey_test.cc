// Snapshots of shards that were taken at different moments, with a lock that moved in between: what
// is made of them has the lock once, whatever each shard had applied.
#include "locks/cpu/move_survey.h"

#include "locks/state/move.h"
#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kShards = 4;
const std::string kName = "a";
const NameHash kHash = hash_name(kName);

using State = std::vector<std::byte>;
using States = std::array<State, kShards>;

ShardId home() {
  return shard_of(kHash, kShards);
}

ShardId away(std::uint32_t k) {
  return ShardId{(home().value + 1 + k) % kShards};
}

// Four shards, driven command by command; what each shard's state was after every one of its own.
class Shards {
 public:
  Shards() { keep_all(); }

  LockReply at(ShardId shard, const LockCommand& command) {
    harness_.shard = shard;
    const LockReply reply = harness_.apply(command);
    keep(shard);
    return reply;
  }

  LockReply wait(ShardId shard, std::uint64_t session) {
    harness_.shard = shard;
    const LockReply reply = harness_.wait(session, ++asked_, kName);
    keep(shard);
    newest_ = std::max(newest_, reply.token.value);
    return reply;
  }

  // The lock passes on, and the next one in line asks for what it was granted.
  void release(ShardId shard) {
    const auto lock = harness_.locks.get(shard, kHash);
    ASSERT_TRUE(lock.has_value());
    at(shard,
       make_release(
           {.session = lock->holder, .name_hash = kHash, .token = lock->token, .by_token = true}));
    const auto next = harness_.locks.get(shard, kHash);
    newest_ = std::max(newest_, next.has_value() ? next->token.value : 0);
    if (next.has_value()) {
      wait(shard, next->holder.value);
    }
  }

  void move(ShardId from, ShardId to) {
    ASSERT_EQ(at(from, make_move_out(kName, to)).code, LockCode::MovedOut);
    arrive(from);
  }

  // Whatever is on its way arrives.
  void arrive(ShardId from) {
    for (const DepartedLock& lock : harness_.locks.departed(from)) {
      const LockReply in = at(lock.to,
                              make_move_in({.from = from,
                                            .number = lock.number,
                                            .token = lock.token,
                                            .token_last = lock.token_last,
                                            .name_bytes = lock.name_bytes,
                                            .text = lock.text}));
      ASSERT_EQ(in.code, LockCode::MovedIn) << "else it is on its way for ever";
      ASSERT_EQ(at(from, make_move_done(kHash, lock.number)).code, LockCode::MoveSealed);
    }
  }

  void load(const States& states) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      if (!states[shard].empty()) {
        const Status read = harness_.locks.deserialize(ShardId{shard}, states[shard], Tick{1});
        ASSERT_TRUE(read.ok()) << read.message();
      }
    }
  }

  const LockCpu& locks() const { return harness_.locks; }

  const std::vector<State>& states(ShardId shard) const { return kept_[shard.value]; }

  std::uint64_t newest_token() const { return newest_; }

 private:
  void keep(ShardId shard) { kept_[shard.value].push_back(harness_.locks.serialize(shard)); }

  void keep_all() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      kept_[shard].push_back({});
    }
  }

  LockHarness harness_;
  std::array<std::vector<State>, kShards> kept_;
  std::uint64_t asked_ = 0;
  std::uint64_t newest_ = 0;
};

States settled(const States& states, MoveSurvey& survey) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const Status taken = survey.take(ShardId{shard}, states[shard]);
    EXPECT_TRUE(taken.ok()) << taken.message();
  }
  survey.conclude();
  States result;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    auto made = settled_state(states[shard], survey.fixes(ShardId{shard}));
    EXPECT_TRUE(made.ok()) << made.status().message();
    result[shard] = made.ok() ? std::move(made).value() : State{};
  }
  return result;
}

std::size_t holders(const LockCpu& locks) {
  std::size_t count = 0;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    count += locks.get(ShardId{shard}, kHash).has_value() ? 1 : 0;
  }
  return count;
}

// In each shard the lock is held once or not at all, what is on its way arrives, the home leads to
// where the lock is, and there it may be taken.
void expect_one_lock(const States& states) {
  Shards after;
  after.load(states);
  EXPECT_LE(holders(after.locks()), 1u);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    after.arrive(ShardId{shard});
  }
  EXPECT_LE(holders(after.locks()), 1u);
  const auto said = after.locks().residence(home(), kHash);
  const bool is_away = said.has_value() && said->residence == Residence::Away;
  const ShardId place = is_away ? said->away_to : home();
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    if (ShardId{shard} != place) {
      EXPECT_FALSE(after.locks().get(ShardId{shard}, kHash).has_value());
    }
    EXPECT_TRUE(after.locks().departed(ShardId{shard}).empty());
  }
  const LockReply asked = after.wait(place, 77);
  EXPECT_TRUE(asked.code == LockCode::Granted || asked.code == LockCode::Waiting)
      << static_cast<int>(asked.code);
  EXPECT_LE(holders(after.locks()), 1u);
}

// A lock that is held and waited for goes out, home, out elsewhere, and is passed on meanwhile.
void drive(Shards& shards) {
  shards.wait(home(), 1);
  shards.wait(home(), 2);
  shards.wait(home(), 3);
  shards.move(home(), away(0));
  shards.release(away(0));
  shards.move(away(0), home());
  shards.release(home());
  shards.wait(home(), 4);
  shards.move(home(), away(1));
  shards.release(away(1));
  shards.move(away(1), home());
  shards.wait(home(), 5);
  shards.move(home(), away(0));
}

// Every shard at any of its moments: more snapshots than nodes could give.
TEST(MoveSurvey, L19StatesOfAnyMomentsBecomeOneLock) {
  Shards shards;
  drive(shards);
  std::size_t count = 0;
  for (const State& at_home : shards.states(home())) {
    for (const State& first : shards.states(away(0))) {
      for (const State& second : shards.states(away(1))) {
        States states;
        states[home().value] = at_home;
        states[away(0).value] = first;
        states[away(1).value] = second;
        MoveSurvey survey(kShards);
        const States made = settled(states, survey);
        expect_one_lock(made);
        MoveSurvey again(kShards);
        settled(made, again);
        EXPECT_EQ(again.settled(), 0u) << "what is settled stays";
        ++count;
        ASSERT_FALSE(testing::Test::HasFailure()) << "snapshot " << count;
      }
    }
  }
  EXPECT_GT(count, 300u);
}

// The finding: the home before the lock left, the other shard after it came.
TEST(MoveSurvey, L19ALockThatWasSavedInTwoShardsIsInOne) {
  Shards shards;
  const LockReply held = shards.wait(home(), 1);
  shards.wait(home(), 2);
  const State before = shards.states(home()).back();
  shards.move(home(), away(0));
  States states;
  states[home().value] = before;
  states[away(0).value] = shards.states(away(0)).back();
  Shards raw;
  raw.load(states);
  ASSERT_EQ(holders(raw.locks()), 2u) << "as it was restored";
  MoveSurvey survey(kShards);
  Shards made;
  made.load(settled(states, survey));
  EXPECT_EQ(survey.settled(), 1u);
  EXPECT_EQ(survey.lost(), 0u);
  EXPECT_FALSE(made.locks().get(home(), kHash).has_value());
  EXPECT_EQ(made.locks().get(away(0), kHash)->token, held.token);
  EXPECT_EQ(made.locks().waiters(away(0), kHash, 0, 10).size(), 1u);
  EXPECT_EQ(made.wait(home(), 2).code, LockCode::Moved) << "and who waited is sent there";
}

TEST(MoveSurvey, L19ALockThatWasOnItsWayArrives) {
  Shards shards;
  const LockReply held = shards.wait(home(), 1);
  shards.wait(home(), 2);
  shards.at(home(), make_move_out(kName, away(0)));
  States states;
  states[home().value] = shards.states(home()).back();
  MoveSurvey survey(kShards);
  Shards made;
  made.load(settled(states, survey));
  EXPECT_EQ(survey.settled(), 0u);
  made.arrive(home());
  EXPECT_EQ(made.locks().get(away(0), kHash)->token, held.token);
}

TEST(MoveSurvey, L19AHoldThatNoShardKnowsOfIsCountedAsLost) {
  Shards shards;
  shards.wait(home(), 1);
  shards.move(home(), away(0));
  States states;
  states[home().value] = shards.states(home()).back();  // It has arrived; there it is not known.
  MoveSurvey survey(kShards);
  const States made = settled(states, survey);
  EXPECT_EQ(survey.lost(), 1u);
  Shards after;
  after.load(made);
  EXPECT_EQ(holders(after.locks()), 0u);
  EXPECT_EQ(after.wait(away(0), 9).code, LockCode::Granted);
}

TEST(MoveSurvey, L19WhoeverHoldsALockTogetherOrInItsDelayHasLeftItToo) {
  for (const bool delays : {false, true}) {
    LockHarness before;
    before.shard = home();
    if (delays) {
      before.hold(1, 1, kName, {.delay_ms = 500});
      before.expire(1);
    } else {
      before.hold(1, 1, kName, {.flags = kHoldShared, .permits = 1});
      before.hold(2, 1, kName, {.flags = kHoldShared, .permits = 1});
    }
    before.wait(3, 1, kName);
    Shards shards;
    shards.wait(home(), 1);
    shards.move(home(), away(0));
    States states;
    states[home().value] = before.locks.serialize(home());
    states[away(0).value] = shards.states(away(0)).back();
    MoveSurvey survey(kShards);
    expect_one_lock(settled(states, survey));
    EXPECT_EQ(survey.settled(), 1u);
  }
}

TEST(MoveSurvey, AStateThatIsCutIsRefused) {
  Shards shards;
  shards.wait(home(), 1);
  shards.move(home(), away(0));
  State cut = shards.states(home()).back();
  cut.pop_back();
  MoveSurvey survey(kShards);
  EXPECT_FALSE(survey.take(home(), cut).ok());
}

// Numbers and shards that no node gave change nothing outside, and end nothing.
TEST(MoveSurvey, AStateThatNamesShardsThatAreNoneIsLeftAlone) {
  Shards shards;
  shards.wait(home(), 1);
  shards.at(home(), make_move_out(kName, ShardId{77}));
  MoveSurvey survey(kShards);
  ASSERT_TRUE(survey.take(home(), shards.states(home()).back()).ok());
  survey.conclude();
  EXPECT_EQ(survey.settled(), 0u);
}

TEST(MoveSurvey, WhatNobodyMovedStaysByteForByte) {
  LockHarness harness;
  harness.acquire(1, 1, "b");
  const State state = harness.locks.serialize(harness.shard);
  MoveSurvey survey(kShards);
  ASSERT_TRUE(survey.take(ShardId{0}, state).ok());
  survey.conclude();
  EXPECT_EQ(survey.names(), 0u);
  EXPECT_EQ(settled_state(state, survey.fixes(ShardId{0})).value(), state);
}

// The records of a moved name stand for ever; nobody holds them.
TEST(LockOccupancy, CountsNoRecordsOfMovedNamesAlsoAfterStatesAreRead) {
  Shards shards;
  shards.wait(home(), 1);
  shards.move(home(), away(0));
  EXPECT_EQ(shards.locks().usage().locks, 2u);
  EXPECT_EQ(shards.locks().occupancy().locks, 1u);
  EXPECT_EQ(shards.locks().occupancy(home()).locks, 0u);
  shards.release(away(0));
  States states;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    states[shard] = shards.states(ShardId{shard}).back();
  }
  Shards read;
  read.load(states);
  read.load(states);  // In place of what was read before.
  for (const LockCpu* locks : {&shards.locks(), &read.locks()}) {
    EXPECT_EQ(locks->usage().locks, 2u);
    EXPECT_EQ(locks->occupancy().locks, 0u);
    EXPECT_EQ(locks->occupancy().sessions, locks->usage().sessions - 2);
    EXPECT_EQ(locks->occupancy(away(0)).locks, 0u);
  }
}

}  // namespace
}  // namespace gcoord::locks
