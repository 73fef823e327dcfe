// Waiting for a ticket of a lock among other things.
#include "netcore/ticket/gpu_lock.h"
#include "tests/netcore/poll_samples.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

class PollTicketTest : public testing::Test {
 protected:
  void SetUp() override {
    GpuTicketLockOptions options;
    options.layout = {4, 8};
    auto made = GpuTicketLock::create(registry_, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    lock_ = std::move(made).value();
    ASSERT_EQ(user().take(soon(), &first_), TicketVerdict::Held);
    ASSERT_EQ(user().join(deadline_after(kSecondNs), &wait_), TicketVerdict::Busy);
    set_.put(0, ticket_entry(lock_->device(), &wait_));
    set_.put(1, word_entry(&word_, 0));
  }

  TicketLock<> user() const { return TicketLock<>{lock_->device()}; }

  static TicketOptions soon() {
    TicketOptions options;
    options.deadline_ns = deadline_after(kSecondNs);
    return options;
  }

  MemoryRegistry registry_{make_host_memory()};
  std::unique_ptr<GpuTicketLock> lock_;
  PollSample sample_;
  PollSet<> set_{sample_.device()};
  TicketHold first_;
  TicketWait wait_;
  std::uint64_t word_ = 0;
};

TEST_F(PollTicketTest, Row213AGrantIsReportedWhileOtherThingsAreWaitedFor) {
  EXPECT_TRUE(ask(set_).empty());
  word_ = 1;
  EXPECT_EQ(await_event(set_).index, 1u);
  set_.see(1, 1);
  std::thread holder{[&] { EXPECT_EQ(user().release(first_), TicketVerdict::Released); }};
  const PollEvent event = await_event(set_);
  EXPECT_EQ(event.index, 0u);
  EXPECT_EQ(event.events, kPollIn);
  EXPECT_EQ(event.value, wait_.ticket);
  holder.join();
  TicketHold hold;
  ASSERT_EQ(user().settle(wait_, kSecondNs, &hold), TicketVerdict::Held);
  set_.remove(0);
  EXPECT_TRUE(user().holds(hold));
  EXPECT_EQ(user().release(hold), TicketVerdict::Released);
}

TEST_F(PollTicketTest, Row213WhoDoesNotWaitOnLeavesTheLine) {
  TicketHold hold;
  EXPECT_EQ(user().settle(wait_, kSecondNs, &hold), TicketVerdict::TimedOut);
  set_.remove(0);
  EXPECT_EQ(user().release(first_), TicketVerdict::Released);
  EXPECT_EQ(user().take(soon(), &hold), TicketVerdict::Held) << "nobody stands before it";
}

TEST_F(PollTicketTest, Row213ARevokedTicketHangsUp) {
  std::thread host{[&] { EXPECT_TRUE(lock_->revoke(wait_.ticket).ok()); }};
  EXPECT_EQ(await_event(set_).events, kPollHup);
  host.join();
  TicketHold hold;
  EXPECT_EQ(user().settle(wait_, kSecondNs, &hold), TicketVerdict::Revoked);
}

TEST_F(PollTicketTest, Row213WhoWaitsInASetFollowsNoticesOfRevocation) {
  SystemOrder::raise(lock_->device().words.notice().revoke, first_.ticket + 1);
  EXPECT_EQ(await_event(set_).events, kPollIn) << "the waiter revoked the holder";
  EXPECT_EQ(user().release(first_), TicketVerdict::Revoked);
}

TEST_F(PollTicketTest, Row213AClosedLockHangsUp) {
  std::thread host{[&] { EXPECT_TRUE(lock_->close().ok()); }};
  EXPECT_EQ(await_event(set_).events, kPollHup);
  host.join();
}

TEST_F(PollTicketTest, Row213GarbageInThePlaceOfATicketIsAnError) {
  SystemOrder::raise(lock_->device().words.place(wait_.ticket), 0);
  EXPECT_EQ(await_event(set_).events, kPollErr);
}

// Lines with gaps, between threads: nothing that the lock protects is touched by two.
TEST(PollTickets, Row213WhoWaitsInSetsSharesALockAndLosesNothing) {
  constexpr std::uint32_t kGroups = 6;
  MemoryRegistry registry{make_host_memory()};
  GpuTicketLockOptions options;
  options.layout = {kGroups, 16};
  auto made = GpuTicketLock::create(registry, options);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  PollSample sample;
  TicketGuarded guarded;
  std::vector<TicketWait> waits(kGroups);
  std::vector<PollProbeResult> results(kGroups);
  PollProbeWork work;
  work.set = sample.device();
  work.probe.slot_count = 300;
  work.probe.timeout_ns = 300 * kSecondNs;
  work.tickets = {made.value()->device(), &guarded, waits.data(), 300};
  work.group_count = kGroups;
  work.result = results.data();
  std::vector<std::thread> groups;
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    groups.emplace_back([&, group] { run_poll_probe<PollProbeKind::Tickets>(work, group); });
  }
  for (std::thread& group : groups) {
    group.join();
  }
  std::uint64_t holds = 0;
  for (const PollProbeResult& result : results) {
    EXPECT_EQ(result.status, WaitStatus::Ready);
    EXPECT_EQ(result.wrong_words, 0u);
    EXPECT_NE(result.slots, 0u);
    holds += result.slots;
  }
  EXPECT_EQ(guarded.holds[0], holds);
}

}  // namespace
}  // namespace gcoord::netcore
