// A ticket lock between threads of the host: what it protects, order, leaving, revocation, garbage.
#include "netcore/ticket/lock.h"

#include "netcore/probe/ticket_probe.h"
#include "netcore/ticket/gpu_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

class TicketLockTest : public testing::Test {
 protected:
  void make(std::uint32_t groups, std::uint32_t places) {
    GpuTicketLockOptions options;
    options.layout = {groups, places};
    auto made = GpuTicketLock::create(registry_, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    lock_ = std::move(made).value();
  }

  TicketLock<> user() const { return TicketLock<>{lock_->device()}; }

  TicketWords words() const { return lock_->device().words; }

  static TicketOptions within(std::uint64_t timeout_ns) {
    TicketOptions options;
    options.deadline_ns = device_now_ns() + timeout_ns;
    return options;
  }

  // `groups` threads work the probe; their results, once all have ended.
  std::vector<TicketProbeResult> run(std::uint32_t groups, const TicketProbeOptions& probe) {
    std::vector<TicketProbeResult> results(groups);
    TicketProbeWork work;
    work.lock = lock_->device();
    work.guarded = &guarded_;
    work.probe = probe;
    work.group_count = groups;
    work.results = results.data();
    std::vector<std::thread> threads;
    std::barrier start{groups};  // Short runs would be over before the next thread exists.
    for (std::uint32_t group = 0; group < groups; ++group) {
      threads.emplace_back([&work, &start, group] {
        start.arrive_and_wait();
        run_ticket_probe(work, group);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return results;
  }

  // As run(), each group with words of its own: where a guess may revoke one who is at work.
  std::vector<TicketProbeResult> run_apart(std::uint32_t groups, const TicketProbeOptions& probe) {
    std::vector<TicketProbeResult> results(groups);
    std::vector<TicketGuarded> guarded(groups);
    std::vector<std::thread> threads;
    for (std::uint32_t group = 0; group < groups; ++group) {
      TicketProbeWork work;
      work.lock = lock_->device();
      work.guarded = &guarded[group];
      work.probe = probe;
      work.group_count = groups;
      work.results = results.data();
      threads.emplace_back([work, group] { run_ticket_probe(work, group); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return results;
  }

  static TicketProbeResult sum(const std::vector<TicketProbeResult>& results) {
    TicketProbeResult all;
    for (const TicketProbeResult& result : results) {
      all.held += result.held;
      all.left += result.left;
      all.revoked += result.revoked;
      all.wrong += result.wrong;
    }
    return all;
  }

  TicketPeek look() const {
    auto look = lock_->look();
    EXPECT_TRUE(look.ok());
    return look.value();
  }

  MemoryRegistry registry_{make_host_memory()};
  std::unique_ptr<GpuTicketLock> lock_;
  TicketGuarded guarded_;
};

TicketProbeOptions takes(std::uint64_t count) {
  TicketProbeOptions probe;
  probe.takes = count;
  probe.timeout_ns = 300 * kSecond;
  probe.seed = 11;
  return probe;
}

TEST_F(TicketLockTest, WhatItProtectsIsNeverTouchedByTwo) {
  make(6, 16);
  const auto results = run(6, takes(500));
  const TicketProbeResult all = sum(results);
  EXPECT_EQ(all.held, 3'000u);
  EXPECT_EQ(all.wrong, 0u);
  EXPECT_EQ(guarded_.holds[0], 3'000u);
  EXPECT_EQ(guarded_.token, 3'000u) << "tokens are dense when nobody leaves";
  EXPECT_FALSE(look().holder.has_value());
}

TEST_F(TicketLockTest, WhoLeavesAndWhoOnlyTriesHarmNobody) {
  make(6, 16);
  TicketProbeOptions probe = takes(500);
  probe.short_of_1024 = 400;
  probe.try_of_1024 = 200;
  const TicketProbeResult all = sum(run(6, probe));
  EXPECT_EQ(all.held + all.left, 3'000u);
  EXPECT_EQ(all.wrong, 0u);
  EXPECT_EQ(guarded_.holds[0], all.held);
  TicketHold hold;
  EXPECT_EQ(user().try_take(kSecond, &hold), TicketVerdict::Held) << look().to_text();
}

TEST_F(TicketLockTest, WaitersAreServedInTheOrderOfTheirTickets) {
  constexpr std::uint32_t kWaiters = 5;
  make(kWaiters + 1, 16);
  TicketHold first;
  ASSERT_EQ(user().take(within(kSecond), &first), TicketVerdict::Held);
  std::vector<std::uint32_t> order;
  std::vector<std::thread> threads;
  for (std::uint32_t waiter = 0; waiter < kWaiters; ++waiter) {
    threads.emplace_back([&, waiter] {
      TicketHold hold;
      ASSERT_EQ(user().take(within(300 * kSecond), &hold), TicketVerdict::Held);
      order.push_back(waiter);  // Guarded by the lock.
      EXPECT_EQ(user().release(hold), TicketVerdict::Released);
    });
    while (look().waiting != waiter + 1) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(user().drawn_after(first), kWaiters);
  EXPECT_EQ(user().release(first), TicketVerdict::Released);
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST_F(TicketLockTest, AWaiterLeavesAtItsDeadlineAtAnAbortAndWhenItIsClosed) {
  make(2, 4);
  TicketHold hold;
  ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
  TicketHold none;
  EXPECT_EQ(user().take(within(1'000'000), &none), TicketVerdict::TimedOut);
  EXPECT_EQ(user().try_take(kSecond, &none), TicketVerdict::Busy);
  EXPECT_EQ(look().abandoned, 1u);
  std::thread host{[&] { EXPECT_TRUE(lock_->abort().ok()); }};
  EXPECT_EQ(user().take(within(300 * kSecond), &none), TicketVerdict::Aborted);
  host.join();
  EXPECT_EQ(user().release(hold), TicketVerdict::Released) << "who leaves may still release";
  EXPECT_EQ(look().abandoned, 0u);
  make(2, 4);
  ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
  EXPECT_TRUE(lock_->close().ok());
  EXPECT_EQ(user().take(within(300 * kSecond), &none), TicketVerdict::Closed);
}

TEST_F(TicketLockTest, LeavingAgainAndAgainFillsTheLineAndOverrunsNothing) {
  make(2, 8);
  TicketHold hold;
  ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
  TicketHold none;
  std::uint32_t left = 0;
  while (user().take(within(0), &none) == TicketVerdict::TimedOut) {
    ASSERT_LT(++left, 8u);
  }
  EXPECT_EQ(left, 6u) << "places less the holder's and one for the other group";
  EXPECT_EQ(user().take(within(0), &none), TicketVerdict::Full);
  EXPECT_EQ(user().release(hold), TicketVerdict::Released);
  EXPECT_EQ(user().take(within(0), &hold), TicketVerdict::Held);
  EXPECT_EQ(hold.fencing_token(), 8u);
}

TEST_F(TicketLockTest, ARevokedHolderLearnsItAndTheNextIsServed) {
  make(3, 8);
  TicketHold stalled;
  ASSERT_EQ(user().take(within(kSecond), &stalled), TicketVerdict::Held);
  EXPECT_TRUE(user().holds(stalled));
  std::atomic<bool> was_held = false;
  std::thread next{[&] {
    TicketHold hold;
    EXPECT_EQ(user().take(within(300 * kSecond), &hold), TicketVerdict::Held);
    EXPECT_GT(hold.fencing_token(), stalled.fencing_token());
    was_held = true;
    EXPECT_EQ(user().release(hold), TicketVerdict::Released);
  }};
  while (look().waiting != 1) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(was_held);
  ASSERT_EQ(look().holder, stalled.ticket);
  EXPECT_TRUE(lock_->revoke(stalled.ticket).ok());
  next.join();
  EXPECT_TRUE(was_held);
  EXPECT_FALSE(user().holds(stalled));
  EXPECT_EQ(user().release(stalled), TicketVerdict::Revoked);
  EXPECT_EQ(user().revoke(stalled.ticket), TicketVerdict::Busy);
}

TEST_F(TicketLockTest, ANoticeOfRevocationIsFollowedByWhoeverWaits) {
  make(2, 4);
  TicketHold stalled;
  ASSERT_EQ(user().take(within(kSecond), &stalled), TicketVerdict::Held);
  // As a host does whose device it is: it cannot swap words there, only store them.
  SystemOrder::raise(words().notice().revoke, stalled.ticket + 1);
  TicketHold hold;
  EXPECT_EQ(user().take(within(300 * kSecond), &hold), TicketVerdict::Held);
  EXPECT_EQ(user().release(stalled), TicketVerdict::Revoked);
  EXPECT_EQ(user().release(hold), TicketVerdict::Released);
}

TEST_F(TicketLockTest, AWaitingTicketCanBeTakenOutOfTheLine) {
  make(3, 8);
  TicketHold hold;
  ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
  std::thread waiter{[&] {
    TicketHold none;
    EXPECT_EQ(user().take(within(300 * kSecond), &none), TicketVerdict::Revoked);
  }};
  while (look().waiting != 1) {
    std::this_thread::yield();
  }
  EXPECT_EQ(user().revoke(hold.ticket + 1), TicketVerdict::Released);
  waiter.join();
  EXPECT_EQ(user().revoke(hold.ticket + 2), TicketVerdict::Busy) << "it was never drawn";
  EXPECT_EQ(user().release(hold), TicketVerdict::Released);
}

TEST_F(TicketLockTest, StalledHoldersAreRevokedWhileOthersWork) {
  make(6, 32);
  TicketProbeOptions probe = takes(200);
  probe.stays_at = 100;
  probe.short_of_1024 = 100;
  std::atomic<bool> ended = false;
  std::thread host{[&] {
    // A holder that stands still over many looks is taken for one that stays. It is a guess, as any
    // limit is, and a wrong one is what tokens are for: so the groups share no words here.
    std::uint64_t same = 0;
    TicketPeek last;
    while (!ended) {
      const TicketPeek now = look();
      same = now.holder == last.holder && now.next == last.next ? same + 1 : 0;
      last = now;
      if (same >= 200 && now.holder.has_value()) {
        EXPECT_TRUE(lock_->revoke(*now.holder).ok());
        same = 0;
      }
      std::this_thread::yield();
    }
  }};
  const auto results = run_apart(6, probe);
  ended = true;
  host.join();
  EXPECT_EQ(results[0].verdict, TicketVerdict::Held);
  for (std::uint32_t group = 1; group < 6; ++group) {
    EXPECT_EQ(results[group].verdict, TicketVerdict::Released) << "group " << group;
    EXPECT_EQ(results[group].held + results[group].left + results[group].revoked, 200u);
  }
}

TEST_F(TicketLockTest, GarbageIsAVerdictAndEndsAllWaits) {
  for (const std::uint64_t garbage : {std::uint64_t{0},
                                      ~std::uint64_t{0},
                                      ticket_word(2, TicketState::Open),
                                      ticket_word(1, TicketState::Open) | 7}) {
    make(3, 8);
    TicketHold hold;
    ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
    std::thread waiter{[&] {
      TicketHold none;
      EXPECT_EQ(user().take(within(300 * kSecond), &none), TicketVerdict::Broken);
    }};
    while (look().waiting != 1) {
      std::this_thread::yield();
    }
    SystemOrder::raise(words().place(1), garbage);
    waiter.join();
    EXPECT_EQ(look().broken, 1u);
    EXPECT_TRUE(look().fault);
    EXPECT_EQ(user().release(hold), TicketVerdict::Broken);
    TicketHold none;
    EXPECT_NE(user().take(within(1'000'000), &none), TicketVerdict::Held);
  }
}

TEST_F(TicketLockTest, GarbageInTheCounterOfTicketsEndsEveryCall) {
  for (const std::uint64_t garbage :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{77}}) {
    make(3, 8);
    TicketHold hold;
    ASSERT_EQ(user().take(within(kSecond), &hold), TicketVerdict::Held);
    SystemOrder::raise(words().next(), garbage);
    TicketHold none;
    EXPECT_NE(user().take(within(1'000'000), &none), TicketVerdict::Held);
    // Who writes such a word may have written that the lock is free: what counts is that calls end.
    user().try_take(kSecond, &none);
    user().revoke(garbage / 2);
    EXPECT_EQ(user().release(hold), TicketVerdict::Released);
  }
}

TEST_F(TicketLockTest, AHoldsBoundCountsFromBeforeItsGrant) {
  make(2, 4);
  const std::uint64_t before_ns = device_now_ns();
  TicketOptions options = within(kSecond);
  options.hold_ns = 3 * kSecond;
  TicketHold hold;
  ASSERT_EQ(user().take(options, &hold), TicketVerdict::Held);
  EXPECT_GE(hold.valid_until_ns, before_ns + 3 * kSecond);
  EXPECT_LE(hold.valid_until_ns, device_now_ns() + 3 * kSecond);
  EXPECT_TRUE(hold.is_valid(hold.valid_until_ns - 1));
  EXPECT_FALSE(hold.is_valid(hold.valid_until_ns));
  EXPECT_EQ(user().release(hold), TicketVerdict::Released);
  options.hold_ns = 0;
  ASSERT_EQ(user().take(options, &hold), TicketVerdict::Held);
  EXPECT_FALSE(user().holds(hold));
}

}  // namespace
}  // namespace gcoord::netcore
