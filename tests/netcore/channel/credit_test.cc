#include "netcore/channel/credit.h"

#include "common/random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::netcore {
namespace {

TEST(Credit, WidensToTheNearestCursor) {
  rc::check([](std::uint64_t reference, std::int32_t distance) {
    reference >>= 1;
    const auto cursor = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, static_cast<std::int64_t>(reference) + distance));
    RC_ASSERT(widen_cursor(static_cast<std::uint32_t>(cursor), reference) == cursor);
  });
}

TEST(Credit, KeepsTwoSlotsForControl) {
  CreditSender sender{.capacity = 8};
  EXPECT_EQ(sender.available(CreditClass::Ordinary), 6u);
  sender.take(6, CreditClass::Ordinary);
  EXPECT_EQ(sender.available(CreditClass::Ordinary), 0u);
  EXPECT_EQ(sender.available(CreditClass::Control), 2u);
}

TEST(Credit, IgnoresOldWordsAndRefusesForgedOnes) {
  CreditSender sender{.capacity = 64};
  sender.take(20, CreditClass::Ordinary);
  EXPECT_EQ(sender.on_consumed(10), CursorVerdict::Accepted);
  EXPECT_EQ(sender.on_consumed(5), CursorVerdict::Stale);
  EXPECT_EQ(sender.consumed, 10u);
  EXPECT_EQ(sender.on_consumed(21), CursorVerdict::Overrun);
  EXPECT_EQ(sender.consumed, 10u);
}

TEST(Credit, ReceiverRefusesMoreThanItGranted) {
  CreditReceiver receiver{.capacity = 8};
  EXPECT_EQ(receiver.on_slots(0, 9), CursorVerdict::Overrun);
  EXPECT_EQ(receiver.on_slots(0, 8), CursorVerdict::Accepted);
  receiver.consume(8);
  EXPECT_EQ(receiver.on_slots(8, 1), CursorVerdict::Overrun) << "consumed, but not told";
  receiver.tell();
  EXPECT_EQ(receiver.on_slots(8, 1), CursorVerdict::Accepted);
}

TEST(Credit, WantsAGrantAfterHalfIsConsumedAndNotBefore) {
  CreditReceiver receiver{.capacity = 8};
  ASSERT_EQ(receiver.on_slots(0, 4), CursorVerdict::Accepted);
  receiver.consume(4);
  EXPECT_FALSE(receiver.wants_grant());
  ASSERT_EQ(receiver.on_slots(4, 1), CursorVerdict::Accepted);
  receiver.consume(1);
  EXPECT_TRUE(receiver.wants_grant());
  receiver.tell();
  EXPECT_FALSE(receiver.wants_grant());
}

TEST(Credit, WantsAGrantWhenTheSenderMustBeLow) {
  CreditReceiver receiver{.capacity = 16};
  ASSERT_EQ(receiver.on_slots(0, 13), CursorVerdict::Accepted);
  receiver.consume(1);
  EXPECT_TRUE(receiver.wants_grant());
}

// A link between a sender and a receiver that may do anything but invent messages.
struct LossyPair {
  CreditSender sender{.capacity = 16};
  CreditReceiver receiver{.capacity = 16};

  struct Burst {
    std::uint32_t first;
    std::uint32_t count;
  };

  std::vector<Burst> bursts;          // Under way to the receiver.
  std::vector<std::uint32_t> grants;  // Under way to the sender.
  std::uint64_t sent_slots = 0;
  std::uint64_t arrived_slots = 0;
};

enum class Event : std::uint8_t {
  Send,
  Arrive,
  Lose,
  Repeat,
  Consume,
  Grant,
  GrantArrives,
  Resync
};

void play(LossyPair& pair, Event event, std::uint64_t random) {
  const auto pick = [&](const auto& list) {
    return random_below(random, static_cast<std::uint32_t>(list.size()));
  };
  switch (event) {
    case Event::Send: {
      const std::uint32_t available = pair.sender.available(CreditClass::Ordinary);
      const std::uint32_t count = std::min(available, 1 + random_below(random, 4));
      if (count != 0) {
        pair.bursts.push_back({static_cast<std::uint32_t>(pair.sender.sent), count});
        pair.sender.take(count, CreditClass::Ordinary);
        pair.sent_slots += count;
      }
      return;
    }
    case Event::Arrive:
      if (!pair.bursts.empty()) {
        const auto at = pair.bursts.begin() + pick(pair.bursts);
        const LossyPair::Burst burst = *at;
        pair.bursts.erase(at);
        const CursorVerdict verdict = pair.receiver.on_slots(burst.first, burst.count);
        RC_ASSERT(verdict != CursorVerdict::Overrun);
        pair.arrived_slots += verdict == CursorVerdict::Accepted ? burst.count : 0;
      }
      return;
    case Event::Lose:
      if (!pair.bursts.empty()) {
        pair.bursts.erase(pair.bursts.begin() + pick(pair.bursts));
      }
      return;
    case Event::Repeat:
      if (!pair.bursts.empty()) {
        pair.bursts.push_back(pair.bursts[pick(pair.bursts)]);
      }
      return;
    case Event::Consume:
      if (pair.receiver.consumed < pair.receiver.received) {
        pair.receiver.consume(1);
      }
      return;
    case Event::Grant:
      pair.grants.push_back(pair.receiver.tell());
      return;
    case Event::GrantArrives:
      if (!pair.grants.empty()) {
        RC_ASSERT(pair.sender.on_consumed(pair.grants[pick(pair.grants)]) !=
                  CursorVerdict::Overrun);
      }
      return;
    case Event::Resync:
      RC_ASSERT(pair.receiver.on_slots(static_cast<std::uint32_t>(pair.sender.sent), 0) !=
                CursorVerdict::Overrun);
      return;
  }
}

TEST(Credit, IsConservedOverLossRepetitionAndReordering) {
  rc::check([](std::uint64_t seed) {
    LossyPair pair;
    for (std::uint64_t i = 0; i < 400; ++i) {
      const auto event = static_cast<Event>(random_below(random64(seed, 0, i), 8));
      play(pair, event, random64(seed, 1, i));
      RC_ASSERT(pair.sender.sent - pair.sender.consumed <= pair.sender.capacity);
      RC_ASSERT(pair.receiver.received - pair.receiver.consumed <= pair.receiver.capacity);
      RC_ASSERT(pair.sender.consumed <= pair.receiver.consumed);
      RC_ASSERT(pair.receiver.told <= pair.receiver.consumed);
      RC_ASSERT(pair.receiver.consumed <= pair.receiver.received);
      RC_ASSERT(pair.receiver.received <= pair.sender.sent);
    }
    // One word each way over a link that works again returns everything.
    play(pair, Event::Resync, 0);
    pair.receiver.consume(
        static_cast<std::uint32_t>(pair.receiver.received - pair.receiver.consumed));
    RC_ASSERT(pair.sender.on_consumed(pair.receiver.tell()) != CursorVerdict::Overrun);
    RC_ASSERT(pair.sender.available(CreditClass::Control) == pair.sender.capacity);
    RC_ASSERT(pair.receiver.received == pair.sent_slots);
    RC_ASSERT(pair.receiver.received == pair.arrived_slots + pair.receiver.lost);
  });
}

TEST(Credit, NeverRunsDryWhileEverythingArrivesAndIsConsumed) {
  rc::check([](std::uint64_t seed) {
    CreditSender sender{.capacity = 8};
    CreditReceiver receiver{.capacity = 8};
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint32_t available = sender.available(CreditClass::Ordinary);
      RC_ASSERT(available > 0);
      const std::uint32_t count = 1 + random_below(random64(seed, 0, i), available);
      const auto first = static_cast<std::uint32_t>(sender.sent);
      sender.take(count, CreditClass::Ordinary);
      RC_ASSERT(receiver.on_slots(first, count) == CursorVerdict::Accepted);
      receiver.consume(count);
      if (receiver.wants_grant()) {
        RC_ASSERT(sender.on_consumed(receiver.tell()) == CursorVerdict::Accepted);
      }
    }
  });
}

}  // namespace
}  // namespace gcoord::netcore
