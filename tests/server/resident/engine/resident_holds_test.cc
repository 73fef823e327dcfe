// What goes beyond a plain hold, on a turn that stays on its device: asks, notes, elections, breaks
// and delays travel with pieces of the log. By the twin of three nodes whose state hashes are
// compared after every entry.
#include "locks/commands/entry.h"
#include "locks/state/delay.h"
#include "tests/server/resident/engine/resident_world.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace gcoord::server {
namespace {

using locks::HoldOptions;
using locks::LockCode;
using locks::LockCommand;

constexpr HoldOptions kReads{.flags = locks::kHoldShared, .permits = 1};

class ResidentHolds : public testing::Test {
 protected:
  void SetUp() override { world_.turns(4000); }

  // All replicas told as much have the same state, and each told of commands that others told of.
  void TearDown() override {
    world_.turns(300);
    for (std::uint32_t shard = 0; shard < ResidentWorld::kShards; ++shard) {
      for (const auto& node : world_.nodes) {
        EXPECT_EQ(node.told[shard], world_.nodes[0].told[shard]);
        EXPECT_EQ(node.copy->state_hash(ShardId{shard}),
                  world_.nodes[0].copy->state_hash(ShardId{shard}));
        EXPECT_EQ(node.memory->view().control->abort, 0u);
      }
    }
    EXPECT_EQ(world_.nodes[1].compared, world_.nodes[0].compared);
    EXPECT_EQ(world_.nodes[2].compared, world_.nodes[0].compared);
  }

  locks::LockReply ask(const LockCommand& command) {
    const Answer answer = world_.ask(shard(), command);
    EXPECT_TRUE(answer.whole);
    return answer.decision;
  }

  locks::LockReply hold(std::uint64_t session,
                        std::uint64_t sequence,
                        const HoldOptions& wanted,
                        const std::string& note = {},
                        bool wait = false) {
    const std::string text = name_ + note;
    return ask(locks::make_acquire_hold(
        {.acquire = {.session = SessionId{session},
                     .sequence = RequestSequence{sequence},
                     .name = std::string_view{text}.substr(0, name_.size()),
                     .wait = wait,
                     .ttl_ms = 10'000},
         .ask = wanted,
         .text = text}));
  }

  locks::LockReply give_back(std::uint64_t session, std::uint64_t sequence, FencingToken token) {
    return ask(locks::make_release(office(session, sequence, token)));
  }

  locks::ReleaseFields office(std::uint64_t session,
                              std::uint64_t sequence,
                              FencingToken token) const {
    return {.session = SessionId{session},
            .sequence = RequestSequence{sequence},
            .name_hash = hash_name(name_),
            .token = token};
  }

  locks::LockReply break_lock(FencingToken token, bool all, const std::string& reason) {
    const std::string text = name_ + "ann" + reason;
    return ask(locks::make_break_lock({.token = token,
                                       .all = all,
                                       .name_bytes = static_cast<std::uint16_t>(name_.size()),
                                       .who_bytes = 3,
                                       .text = text}));
  }

  // As all three copies have it.
  locks::HeldLock held() {
    world_.turns(300);
    const auto first = world_.nodes[0].copy->get(shard(), hash_name(name_));
    EXPECT_TRUE(first.has_value());
    for (const auto& node : world_.nodes) {
      const auto lock = node.copy->get(shard(), hash_name(name_));
      EXPECT_TRUE(lock.has_value() && first.has_value() && lock->note == first->note &&
                  lock->name == name_ && lock->token == first->token);
    }
    return first.value_or(locks::HeldLock{});
  }

  ShardId shard() const { return shard_of_name(name_); }

  ResidentWorld world_{31};
  std::string name_ = "jobs/night";
};

TEST_F(ResidentHolds, L6TheSameSessionCountsItsHoldsUpToTheLimit) {
  const HoldOptions twice{.flags = locks::kHoldReentrant, .limit = 2};
  const auto first = hold(5, 1, twice);
  EXPECT_EQ(first.code, LockCode::Granted);
  const auto again = hold(5, 2, twice);
  EXPECT_EQ(again.code, LockCode::HeldAgain);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(hold(5, 3, twice).code, LockCode::HoldLimit);
  EXPECT_EQ(held().hold_count, 2u);
  EXPECT_EQ(give_back(5, 4, first.token).code, LockCode::HoldReturned);
  EXPECT_EQ(give_back(5, 5, first.token).code, LockCode::Released);
}

TEST_F(ResidentHolds, L7ReadersShareAWriterWaitsForThemAndGoesDownToOne) {
  const auto one = hold(1, 1, kReads);
  const auto two = hold(2, 1, kReads);
  EXPECT_EQ(one.code, LockCode::Granted);
  EXPECT_EQ(two.code, LockCode::Granted);
  EXPECT_EQ(held().holders.size(), 2u);
  EXPECT_EQ(ask(acquire(name_, 3, 1, true)).code, LockCode::Waiting);
  // No later reader passes the writer.
  EXPECT_EQ(hold(4, 1, kReads, {}, true).code, LockCode::Waiting);
  EXPECT_EQ(give_back(1, 2, one.token).code, LockCode::Released);
  EXPECT_EQ(give_back(2, 2, two.token).code, LockCode::Released);
  const auto writes = held();
  EXPECT_EQ(writes.holder, SessionId{3});
  const auto down = hold(3, 2, {.flags = locks::kHoldShared | locks::kHoldDowngrade, .permits = 1});
  EXPECT_EQ(down.code, LockCode::Downgraded);
  EXPECT_EQ(down.token, writes.token);
  EXPECT_EQ(held().holders.size(), 2u);
}

TEST_F(ResidentHolds, L8PermitsRunOutAndComeBackWithTheirSession) {
  const HoldOptions two_of_three{.flags = locks::kHoldShared, .permits = 2, .limit = 3};
  const HoldOptions one_of_three{.flags = locks::kHoldShared, .permits = 1, .limit = 3};
  const HoldOptions one_of_two{.flags = locks::kHoldShared, .permits = 1, .limit = 2};
  EXPECT_EQ(hold(1, 1, two_of_three).code, LockCode::Granted);
  EXPECT_EQ(hold(2, 1, one_of_two).code, LockCode::LimitDiffers);
  EXPECT_EQ(hold(2, 2, one_of_three).code, LockCode::Granted);
  EXPECT_EQ(hold(3, 1, one_of_three).code, LockCode::Busy);
  EXPECT_EQ(hold(3, 2, two_of_three, {}, true).code, LockCode::Waiting);
  EXPECT_EQ(ask(locks::make_expire_session(SessionId{1}, 1)).code, LockCode::SessionExpired);
  const auto now = held();
  ASSERT_EQ(now.holders.size(), 2u);
  EXPECT_EQ(now.holders[1].session, SessionId{3});
}

TEST_F(ResidentHolds, L20NotesOfEveryLengthAreKeptWhole) {
  std::uint64_t sequence = 0;
  for (const std::size_t bytes : {1u, 31u, 32u, 33u, 72u, 512u}) {
    std::string note(bytes, '\xfe');
    note.back() = '!';
    const auto taken = hold(5, ++sequence, {}, note);
    ASSERT_EQ(taken.code, LockCode::Granted) << bytes;
    EXPECT_EQ(held().note, note);
    EXPECT_EQ(give_back(5, ++sequence, taken.token).code, LockCode::Released);
  }
  name_ = std::string(520, 'm');
  EXPECT_EQ(hold(6, 1, {}, std::string(512, 'o')).code, LockCode::Granted);
  EXPECT_EQ(held().note.size(), 512u);
}

TEST_F(ResidentHolds, E2TheLeaderProclaimsAndADeposedOneDoesNot) {
  const auto leads = ask(acquire(name_, 1, 1));
  for (const std::string& value : {std::string{"a:1"}, std::string(512, 'v'), std::string{}}) {
    const auto said = ask(locks::make_proclaim(office(1, 2 + value.size(), leads.token), value));
    EXPECT_EQ(said.code, LockCode::Proclaimed);
    EXPECT_EQ(held().note, value);
    EXPECT_EQ(held().token, leads.token);
  }
  give_back(1, 600, leads.token);
  EXPECT_NE(ask(locks::make_proclaim(office(1, 601, leads.token), "late")).code,
            LockCode::Proclaimed);
}

TEST_F(ResidentHolds, E6TheNamedCandidateLeadsAndE9RanksAreShown) {
  const auto leads = ask(acquire(name_, 1, 1));
  hold(2, 1, {}, "second", true);
  hold(3, 1, {.flags = locks::kHoldRanked, .permits = 9}, "third", true);
  const auto line = world_.nodes[1].copy->waiters(shard(), hash_name(name_), 0, 9);
  ASSERT_EQ(line.size(), 2u);
  EXPECT_EQ(line[1].ask.permits, 9);
  EXPECT_EQ(line[1].note, "third");
  EXPECT_EQ(ask(locks::make_transfer(office(1, 2, leads.token), SessionId{8})).code,
            LockCode::TargetAbsent);
  const auto handed = ask(locks::make_transfer(office(1, 3, leads.token), SessionId{3}));
  EXPECT_EQ(handed.code, LockCode::Transferred);
  EXPECT_GT(handed.token, leads.token);
  EXPECT_EQ(held().holder, SessionId{3});
  EXPECT_EQ(held().note, "third");
}

TEST_F(ResidentHolds, L14ALockOfAHolderThatFailedStaysForItsDelay) {
  const auto taken = hold(1, 1, {.delay_ms = 5000});
  hold(2, 1, {}, "next", true);
  EXPECT_EQ(ask(locks::make_expire_session(SessionId{1}, 1)).code, LockCode::SessionExpired);
  EXPECT_EQ(ask(acquire(name_, 3, 1)).code, LockCode::LockDelayed);
  EXPECT_EQ(ask(locks::make_end_delay(hash_name(name_), taken.token)).code, LockCode::DelayEnded);
  EXPECT_EQ(held().holder, SessionId{2});
  EXPECT_EQ(ask(locks::make_end_delay(hash_name(name_), taken.token)).code, LockCode::DelayOver);
}

TEST_F(ResidentHolds, L15ABreakEndsTheHoldsThatItMeansAndTheirReleasesAreTold) {
  const auto taken = ask(acquire(name_, 1, 1));
  ask(acquire(name_, 2, 1, true));
  const auto broken = break_lock(taken.token, false, std::string(300, 'r'));
  EXPECT_EQ(broken.code, LockCode::Broken);
  EXPECT_EQ(broken.holder, SessionId{1});
  EXPECT_EQ(give_back(1, 2, taken.token).code, LockCode::HoldBroken);
  EXPECT_EQ(held().holder, SessionId{2});
  EXPECT_EQ(break_lock(taken.token, false, "again").code, LockCode::StaleToken);
  name_ = "read by many";
  FencingToken last;
  for (std::uint64_t session = 1; session <= 5; ++session) {
    last = hold(session, 10, kReads).token;
  }
  EXPECT_EQ(break_lock(last, true, "all of them").code, LockCode::Broken);
  EXPECT_FALSE(world_.nodes[0].copy->get(shard(), hash_name(name_)).has_value());
  EXPECT_EQ(world_.nodes[world_.leader_of(shard())].copy->losses(SessionId{3}).size(), 1u);
}

TEST_F(ResidentHolds, ACommandWhosePiecesAreNotAllThereLeavesNoTrace) {
  const std::string text = name_ + std::string(200, 'o');
  const auto entries = locks::entries_of(
      locks::make_acquire_hold({.acquire = {.session = SessionId{9},
                                            .sequence = RequestSequence{1},
                                            .name = std::string_view{text}.substr(0, name_.size()),
                                            .ttl_ms = 1000},
                                .text = text}));
  ASSERT_EQ(entries.size(), 7u);
  for (std::size_t k = 0; k + 1 < entries.size(); ++k) {
    auto torn = entries;
    torn.erase(torn.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_FALSE(world_.ask(shard(), torn).whole) << k;
    torn = entries;
    torn.insert(torn.begin() + static_cast<std::ptrdiff_t>(k) + 1, locks::barrier_entry());
    EXPECT_FALSE(world_.ask(shard(), torn).whole) << k;
  }
  EXPECT_EQ(world_.ask(shard(), entries).decision.code, LockCode::Granted);
}

TEST_F(ResidentHolds, EntriesThatCannotBeAreRefusedOrAppliedAlikeEverywhere) {
  const std::string text = name_ + "annwhy";
  const std::vector<LockCommand> sound = {
      locks::make_proclaim(office(1, 9, FencingToken{1}), "v"),
      locks::make_transfer(office(1, 9, FencingToken{1}), SessionId{2}),
      locks::make_end_delay(hash_name(name_), FencingToken{1}),
      locks::make_break_lock({.token = FencingToken{1},
                              .name_bytes = static_cast<std::uint16_t>(name_.size()),
                              .who_bytes = 3,
                              .text = text})};
  std::uint32_t refused = 0;
  for (std::uint32_t k = 0; k < 400; ++k) {
    auto entries = locks::entries_of(sound[k % sound.size()]);
    const std::uint64_t bits = random64(12, k, 0);
    if (k % 3 == 0) {
      entries.back().head ^= 1u << (8 + bits % 24);
    } else {
      // Not the name's hash: a leader that lied about it would stop its followers.
      constexpr std::uint32_t kWords[4] = {0, 1, 2, 5};
      entries.back().word[kWords[bits % 4]] = random64(12, k, 1) & (k % 2 == 0 ? ~0ull : 0x7full);
    }
    const Answer answer = world_.ask(shard(), entries);
    refused += answer.reply.verdict == TurnVerdict::Refused && answer.reply.detail != 0 ? 1 : 0;
  }
  EXPECT_GT(refused, 20u);
  EXPECT_LT(refused, 380u);
}

// --- All kinds, at random

class ResidentHoldsAtRandom : public ResidentHolds {
 protected:
  std::uint64_t draw(std::uint32_t bound) { return random_below(random64(77, ++drawn_, 0), bound); }

  void pick() {
    static const std::string names[] = {"a", "jobs/b", std::string(60, 'c')};
    name_ = names[draw(3)];
    session_ = 1 + draw(5);
    sequence_ = ++sequences_[session_];
  }

  LockCommand holds() {
    static constexpr HoldOptions kAsks[] = {
        {},
        {.flags = locks::kHoldReentrant, .limit = 3},
        kReads,
        {.flags = locks::kHoldShared, .permits = 1, .limit = 3},
        {.flags = locks::kHoldShared | locks::kHoldDowngrade, .permits = 1},
        {.flags = locks::kHoldRanked, .permits = 4},
        {.flags = locks::kHoldReentrant, .limit = 2, .delay_ms = 100},
        {.delay_ms = 5000}};
    const HoldOptions& wanted = kAsks[draw(8)];
    const bool shares = (wanted.flags & locks::kHoldShared) != 0;
    const bool must = locks::pack_ask(wanted) == 0;
    text_ = name_ + std::string(shares ? 0 : (must ? 1 : 0) + draw(80), 'o');
    return locks::make_acquire_hold(
        {.acquire = {.session = SessionId{session_},
                     .sequence = RequestSequence{sequence_},
                     .acked_below = RequestSequence{sequence_ > 20 ? sequence_ - 20 : 1},
                     .name = std::string_view{text_}.substr(0, name_.size()),
                     .wait = draw(2) == 0,
                     .ttl_ms = 1000},
         .ask = wanted,
         .text = text_});
  }

  LockCommand next() {
    pick();
    const auto lock = world_.nodes[0].copy->get(shard(), hash_name(name_));
    const bool right = lock.has_value() && draw(6) != 0;
    const FencingToken token = lock.has_value() ? lock->token : FencingToken{1 + draw(9)};
    const std::uint64_t holder = right ? lock->holder.value : session_;
    sequence_ = holder == session_ ? sequence_ : ++sequences_[holder];
    const auto kind = draw(14);
    if (kind < 5) {
      session_ = holder == session_ ? session_ : holder;
      return holds();
    }
    if (kind < 8) {
      return locks::make_release(office(holder, sequence_, token));
    }
    if (kind == 8) {
      text_ = std::string(draw(90), 'v');
      return locks::make_proclaim(office(holder, sequence_, token), text_);
    }
    if (kind == 9) {
      return locks::make_transfer(office(holder, sequence_, token), SessionId{1 + draw(5)});
    }
    if (kind == 10) {
      text_ = name_ + "ann" + std::string(1 + draw(60), 'r');
      return locks::make_break_lock({.token = token,
                                     .all = draw(2) == 0,
                                     .name_bytes = static_cast<std::uint16_t>(name_.size()),
                                     .who_bytes = 3,
                                     .text = text_});
    }
    if (kind == 11) {
      return locks::make_end_delay(hash_name(name_), token);
    }
    if (kind == 12) {
      const locks::LockTables& tables = world_.nodes[0].copy->tables();
      const auto row = locks::find_session(tables, shard(), SessionId{holder});
      return locks::make_expire_session(SessionId{session_},
                                        row.value != 0 ? tables.sessions[row].serial : 1);
    }
    return acquire(name_, session_, sequence_, draw(2) == 0);
  }

  std::uint64_t drawn_ = 0;
  std::uint64_t session_ = 1;
  std::uint64_t sequence_ = 0;
  std::map<std::uint64_t, std::uint64_t> sequences_;
  std::string text_;
};

TEST_F(ResidentHoldsAtRandom, CommandsOfAllKindsLeaveTheSameStateEverywhere) {
  std::map<LockCode, std::uint32_t> codes;
  for (std::uint32_t k = 0; k < 3000; ++k) {
    const LockCommand command = next();
    ++codes[ask(command).code];
  }
  for (const LockCode code : {LockCode::HeldAgain,
                              LockCode::HoldReturned,
                              LockCode::HoldLimit,
                              LockCode::Downgraded,
                              LockCode::HoldConflict,
                              LockCode::LimitDiffers,
                              LockCode::Broken,
                              LockCode::DelayEnded,
                              LockCode::Proclaimed,
                              LockCode::Transferred,
                              LockCode::TargetAbsent}) {
    EXPECT_GT(codes[code], 0u) << static_cast<int>(code);
  }
  EXPECT_GT(world_.nodes[0].compared, 2500u);
}

}  // namespace
}  // namespace gcoord::server
