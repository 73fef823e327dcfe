// Lock tables in several parts against the same in one: the same replies, events, hashes, states,
// reads, caps, keep-alives and expiries; and several threads, each with a part.
#include "locks/cpu/parts.h"

#include "locks/cpu/lock_cpu.h"
#include "tests/locks/random_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kShards = 8;
constexpr std::uint32_t kSessions = 7;
constexpr std::uint64_t kElection = 3;

// So few that a random world meets them.
constexpr LockLimits kFew{.locks_max = 12, .waiters_max = 4, .requests_max = 40};

LockOptions options_of(std::uint32_t part_shards, const LockLimits& limits = {}) {
  return {.shard_count = kShards,
          .rows_initial = 1,
          .limits = limits,
          .clock = {.tick_ms = 100, .expired_remembered_max = 8},
          .index_seed = 5,
          .part_shards = part_shards};
}

using End = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;

std::vector<End> ends_of(LockCpu& locks, Tick now) {
  std::array<sessions::ExpiryProposal, 64> due{};
  std::vector<End> ends;
  for (std::size_t count = due.size(); count == due.size();) {
    count = locks.clock().collect_due(now, due);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_TRUE(locks.clock().collected(due[k]));
      EXPECT_EQ(locks.session(due[k].row).session, due[k].session);
      ends.emplace_back(due[k].shard.value, due[k].session.value, due[k].serial);
      locks.clock().put_off(due[k], now);
    }
  }
  std::ranges::sort(ends);
  return ends;
}

std::vector<std::tuple<std::uint32_t, std::string, std::uint64_t, std::uint64_t>> walk(
    const LockCpu& locks, Tick now) {
  std::vector<std::tuple<std::uint32_t, std::string, std::uint64_t, std::uint64_t>> found;
  for (LockRow row{1}; row <= locks.row_last(); ++row) {
    const auto lock = locks.held(row, [](ShardId shard) { return shard.value != 2; });
    if (lock.has_value()) {
      found.emplace_back(lock->shard.value,
                         lock->name,
                         lock->token.value,
                         locks.clock().remaining_ticks(lock->holder_row, now));
    }
  }
  std::ranges::sort(found);
  return found;
}

std::uint32_t sessions_met(const LockCpu& locks) {
  std::uint32_t met = 0;
  for (SessionRow row{1}; row <= locks.session_row_last(); ++row) {
    met += locks.session(row).session.value != 0 ? 1 : 0;
  }
  return met;
}

// Both are given the same entries, which a world makes from tables of its own.
class Twins {
 public:
  Twins(std::uint32_t part_shards, std::uint64_t seed)
      : world_({.shard_count = kShards, .seed = seed, .now = now_}),
        parts_(options_of(part_shards, kFew)) {
    lead();
  }

  void step() {
    const auto [shard, command] = world_.any();
    const LogIndex index = ++last_index_[shard.value];
    world_.apply(shard, index, command);
    LockEvents one{one_room_.data(), kLockEventsPerCommandMax, 0};
    LockEvents parts{parts_room_.data(), kLockEventsPerCommandMax, 0};
    EXPECT_EQ(one_.would_exceed(shard, command), parts_.would_exceed(shard, command));
    const LockReply a = one_.apply(shard, index, command, now_, one);
    const LockReply b = parts_.apply(shard, index, command, now_, parts);
    expect_same(a, b);
    ASSERT_EQ(one.count, parts.count);
    for (std::uint32_t k = 0; k < one.count; ++k) {
      EXPECT_EQ(one_room_[k].session, parts_room_[k].session);
      EXPECT_EQ(one_room_[k].code, parts_room_[k].code);
      EXPECT_EQ(one_room_[k].token, parts_room_[k].token);
    }
    ASSERT_EQ(one_.state_hash(shard), parts_.state_hash(shard));
  }

  void pass_time(std::uint64_t number) {
    now_ = now_ + 1;
    world_.set_time(now_);
    const SessionId session{1 + number % kSessions};
    const auto a = one_.clock().renew(session, now_);
    const auto b = parts_.clock().renew(session, now_);
    EXPECT_EQ(a.code, b.code);
    EXPECT_EQ(a.registration_count, b.registration_count);
    EXPECT_EQ(a.ttl_ms_min, b.ttl_ms_min);
    EXPECT_EQ(a.broken, b.broken);
    const ShardId shard{static_cast<std::uint32_t>(number % kShards)};
    if (number % 5 == 0) {
      one_.on_lost_leadership(shard);
      parts_.on_lost_leadership(shard);
    } else {
      one_.on_became_leader(shard, now_, kElection);
      parts_.on_became_leader(shard, now_, kElection);
    }
  }

  void expect_same_state() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(one_.serialize(ShardId{shard}), parts_.serialize(ShardId{shard}));
      EXPECT_EQ(one_.occupancy(ShardId{shard}).locks, parts_.occupancy(ShardId{shard}).locks);
    }
    EXPECT_EQ(ends_of(one_, now_), ends_of(parts_, now_));
    EXPECT_EQ(walk(one_, now_), walk(parts_, now_));
    EXPECT_EQ(sessions_met(one_), sessions_met(parts_));
    EXPECT_EQ(one_.usage().locks, parts_.usage().locks);
    EXPECT_EQ(one_.usage().requests, parts_.counts().requests);
    EXPECT_EQ(one_.usage().sessions, parts_.counts().sessions);
    EXPECT_EQ(one_.counts().waiters, parts_.usage().waiters);
    EXPECT_EQ(one_.occupancy().locks, parts_.occupancy().locks);
    EXPECT_EQ(one_.occupancy().sessions, parts_.occupancy().sessions);
    EXPECT_EQ(one_.unknown_command_count(), parts_.unknown_command_count());
    EXPECT_EQ(one_.clock().registration_count(), parts_.clock().registration_count());
    EXPECT_EQ(one_.delays().size(), parts_.delays().size());
    EXPECT_EQ(one_.delays().next_deadline(), parts_.delays().next_deadline());
    for (std::uint64_t session = 1; session <= kSessions; ++session) {
      expect_same_session(SessionId{session});
    }
  }

  // Through bytes, into tables that had something else.
  void restore(ShardId shard) {
    const auto bytes = one_.serialize(shard);
    EXPECT_TRUE(one_.deserialize(shard, bytes, now_).ok());
    EXPECT_TRUE(parts_.deserialize(shard, bytes, now_).ok());
  }

 private:
  void lead() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      one_.on_became_leader(ShardId{shard}, now_, kElection);
      parts_.on_became_leader(ShardId{shard}, now_, kElection);
    }
  }

  static void expect_same(const LockReply& a, const LockReply& b) {
    EXPECT_EQ(a.code, b.code);
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.holder, b.holder);
    EXPECT_EQ(a.replayed, b.replayed);
    EXPECT_EQ(a.change, b.change);
  }

  void expect_same_session(SessionId session) {
    EXPECT_EQ(one_.clock().remembers_expired(session), parts_.clock().remembers_expired(session));
    EXPECT_EQ(one_.losses(session).size(), parts_.losses(session).size());
    auto a = one_.clock().registrations_of(session);
    auto b = parts_.clock().registrations_of(session);
    std::ranges::sort(a, {}, &sessions::Registration::shard);
    std::ranges::sort(b, {}, &sessions::Registration::shard);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_EQ(a[k].shard, b[k].shard);
      EXPECT_EQ(a[k].serial, b[k].serial);
      EXPECT_EQ(one_.clock().silent_ticks(a[k].row, now_),
                parts_.clock().silent_ticks(b[k].row, now_));
      EXPECT_EQ(one_.clock().broken_count(a[k].row), parts_.clock().broken_count(b[k].row));
      EXPECT_EQ(one_.clock().dying(a[k].row), parts_.clock().dying(b[k].row));
      EXPECT_EQ(one_.session(a[k].row).hold_count, parts_.session(b[k].row).hold_count);
    }
  }

  Tick now_{100};
  RandomWorld world_;
  LockCpu one_{options_of(0, kFew)};
  LockCpu parts_;
  std::array<LogIndex, kShards> last_index_{};
  std::array<LockEvent, kLockEventsPerCommandMax> one_room_{};
  std::array<LockEvent, kLockEventsPerCommandMax> parts_room_{};
};

TEST(LockParts, SeveralDoWhatOneDoes) {
  for (const std::uint32_t part_shards : {1u, 2u, 3u, 7u}) {
    Twins twins(part_shards, 40 + part_shards);
    for (std::uint64_t k = 0; k < 3000; ++k) {
      twins.step();
      if (k % 10 == 9) {
        twins.pass_time(k / 10);
      }
      if (k % 250 == 249) {
        twins.expect_same_state();
        twins.restore(ShardId{static_cast<std::uint32_t>(k / 250) % kShards});
      }
    }
  }
}

TEST(LockParts, WhatOnePartSawEndTheOthersKnow) {
  LockCpu locks(options_of(4));
  ASSERT_EQ(locks.clock().only(), nullptr);
  std::array<LockEvent, kLockEventsPerCommandMax> room{};
  LockEvents events{room.data(), kLockEventsPerCommandMax, 0};
  const SessionId given{sessions::kChosenSessionEnd + 7};
  locks.on_became_leader(ShardId{7}, Tick{1}, kElection);
  locks.apply(ShardId{0}, LogIndex{1}, make_register_session(given, 1000), Tick{1}, events);
  EXPECT_EQ(locks.clock().renew(given, Tick{2}).code, sessions::RenewCode::Renewed);
  locks.apply(ShardId{0}, LogIndex{2}, make_expire_session(given, 1), Tick{3}, events);
  EXPECT_TRUE(locks.clock().remembers_expired(given));
  EXPECT_EQ(locks.clock().renew(given, Tick{3}).code, sessions::RenewCode::Lost);
  // In a shard of the other part it is due at once, since it was over before it came.
  locks.apply(ShardId{7}, LogIndex{1}, make_register_session(given, 1000), Tick{4}, events);
  std::array<sessions::ExpiryProposal, 2> due{};
  ASSERT_EQ(locks.clock().expired(Tick{4}, due), 1u);
  EXPECT_EQ(due[0].shard, ShardId{7});
  EXPECT_TRUE(locks.clock().still(due[0]));
}

TEST(LockParts, AKeepAliveRenewsInAllPartsOrInNone) {
  LockCpu locks(options_of(4));
  std::array<LockEvent, kLockEventsPerCommandMax> room{};
  LockEvents events{room.data(), kLockEventsPerCommandMax, 0};
  const SessionId session{3};
  for (const ShardId shard : {ShardId{0}, ShardId{7}}) {
    locks.on_became_leader(shard, Tick{1}, kElection);
    locks.apply(shard, LogIndex{1}, make_register_session(session, 1000), Tick{1}, events);
  }
  const auto renewed = locks.clock().renew(session, Tick{5});
  EXPECT_EQ(renewed.code, sessions::RenewCode::Renewed);
  EXPECT_EQ(renewed.registration_count, 2u);
  std::array<sessions::ExpiryProposal, 4> due{};
  ASSERT_EQ(locks.clock().collect_due(Tick{100}, due), 2u);
  const auto& last = due[0].shard == ShardId{7} ? due[0] : due[1];
  const auto& first = due[0].shard == ShardId{7} ? due[1] : due[0];
  ASSERT_TRUE(locks.clock().propose(last));
  locks.clock().put_off(first, Tick{101});
  EXPECT_EQ(locks.clock().renew(session, Tick{100}).code, sessions::RenewCode::Lost);
  EXPECT_EQ(locks.clock().remaining_ticks(first.row, Tick{100}), 1u);
}

// Each thread has the shards of its part, and the main thread looks at all of them meanwhile. What
// becomes of a shard does not depend on the others.
TEST(LockParts, ThreadsApplyTheirPartsTogether) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kCommands = 4000;
  const auto drive = [](LockCpu& locks, std::uint32_t thread) {
    std::array<LockEvent, kLockEventsPerCommandMax> room{};
    for (std::uint64_t k = 1; k <= kCommands; ++k) {
      const ShardId shard{static_cast<std::uint32_t>(2 * thread + k % 2)};
      LockEvents events{room.data(), kLockEventsPerCommandMax, 0};
      const SessionId session{1 + k % 5};
      const std::string name = "job/" + std::to_string(k % 11);
      const auto held = locks.get(shard, hash_name(name));
      const LockCommand command = held.has_value()
                                      ? make_release({.session = held->holder,
                                                      .sequence = RequestSequence{k},
                                                      .acked_below = RequestSequence{k},
                                                      .name_hash = held->name_hash,
                                                      .token = held->token})
                                      : make_acquire({.session = session,
                                                      .sequence = RequestSequence{k},
                                                      .acked_below = RequestSequence{k},
                                                      .name = name,
                                                      .wait = true,
                                                      .ttl_ms = 1000});
      locks.apply(shard, LogIndex{k}, command, Tick{1}, events);
    }
  };
  LockCpu one(options_of(0));
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    drive(one, thread);
  }
  LockCpu parts(options_of(kShards / kThreads));
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      drive(parts, thread);
      --running;
    });
  }
  std::uint64_t looks = 0;
  while (running != 0 || looks == 0) {
    ++looks;
    static_cast<void>(walk(parts, Tick{1}));
    parts.clock().renew(SessionId{1 + looks % 5}, Tick{1});
    const LockView view = parts.view(ShardId{static_cast<std::uint32_t>(looks % kShards)});
    static_cast<void>(parts.would_exceed(ShardId{0}, make_register_session(SessionId{9}, 1000)));
    EXPECT_LE(view.tables().locks.used(), 22u);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(one.state_hash(ShardId{shard}), parts.state_hash(ShardId{shard}));
    EXPECT_EQ(one.serialize(ShardId{shard}), parts.serialize(ShardId{shard}));
  }
  EXPECT_EQ(one.counts().locks, parts.counts().locks);
  EXPECT_EQ(one.clock().registration_count(), parts.clock().registration_count());
}

}  // namespace
}  // namespace gcoord::locks
