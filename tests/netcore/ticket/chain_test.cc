// Every interleaving of takers, leavers, revokers and late helpers of a small ticket lock.
#include "netcore/ticket/chain.h"

#include "tests/netcore/ticket_model.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

using Script = TicketModel::Script;

struct TakerHabits {
  int takes = 1;
  bool may_leave = false;
  bool may_be_revoked = false;
  bool keeps_last = false;  // Ends with its last hold unreleased.
  bool tries = false;
};

// The ticket that was drawn; none: no room, or not free.
std::optional<std::uint64_t> draw(const TicketWords& words, bool tries, TicketPosition& place) {
  const std::size_t mark = model_mark();
  std::uint64_t ticket = 0;
  if (tries) {
    place = draw_if_free<ModelOrder>(words, &ticket);
    return place == TicketPosition::Queued ? std::nullopt : std::optional{ticket};
  }
  const TicketStep room = look_for_room<ModelOrder>(words);
  EXPECT_NE(room, TicketStep::Broken);
  if (room == TicketStep::Already) {
    model_again(mark);
  }
  place = TicketPosition::Queued;
  return ModelOrder::draw(words.next());
}

TicketPosition wait(const TicketWords& words, std::uint64_t ticket, bool may_leave) {
  const std::size_t mark = model_mark();
  if (may_leave && model_choice(2) == 1) {
    TicketPosition found = TicketPosition::Broken;
    abandon_ticket<ModelOrder>(words, ticket, &found);
    EXPECT_NE(found, TicketPosition::Early) << "a ticket without a place: the line was overrun";
    return found;
  }
  const TicketPosition place = look_at_ticket<ModelOrder>(words, ticket);
  EXPECT_NE(place, TicketPosition::Early) << "a ticket without a place: the line was overrun";
  if (place == TicketPosition::Queued) {
    model_again(mark);
  }
  return place;
}

void take_once(const TicketWords& words, const TakerHabits& habits, bool keeps) {
  TicketPosition place = TicketPosition::Queued;
  const std::optional<std::uint64_t> ticket = draw(words, habits.tries, place);
  if (!ticket.has_value()) {
    return;
  }
  if (place == TicketPosition::Queued) {
    place = wait(words, *ticket, habits.may_leave);
  }
  EXPECT_NE(place, TicketPosition::Broken);
  EXPECT_TRUE(place != TicketPosition::Gone || habits.may_be_revoked);
  if (place == TicketPosition::Held && !keeps) {
    const TicketStep step = release_ticket<ModelOrder>(words, *ticket);
    EXPECT_TRUE(step == TicketStep::Done || (step == TicketStep::Already && habits.may_be_revoked));
  }
}

Script taker(const TakerHabits& habits) {
  Script script;
  for (int take = 0; take < habits.takes; ++take) {
    const bool keeps = habits.keeps_last && take + 1 == habits.takes;
    script.push_back([=](const TicketWords& words) { take_once(words, habits, keeps); });
  }
  return script;
}

// Revokes tickets in turn, each as soon as it is drawn, or later.
Script revoker(const std::vector<std::uint64_t>& tickets) {
  Script script;
  for (const std::uint64_t ticket : tickets) {
    script.push_back([ticket](const TicketWords& words) {
      const std::size_t mark = model_mark();
      if (ModelOrder::peek(words.next()) <= ticket) {
        model_again(mark);
      }
      EXPECT_NE(revoke_ticket<ModelOrder>(words, ticket), TicketStep::Broken);
    });
  }
  return script;
}

// Hands on whatever it once saw passing, however late.
Script bystander(std::uint64_t place) {
  return {[place](const TicketWords& words) {
    const std::uint64_t found = ModelOrder::observe(words.place(place));
    if (ticket_state(found) == TicketState::Passing) {
      EXPECT_NE(hand_on<ModelOrder>(words, ticket_of(found)), TicketStep::Broken);
    }
  }};
}

// At most one place is Held, and the grants only rise: no ticket is held while a later one was.
void check_one_holder(const TicketWords& words) {
  std::uint32_t held = 0;
  std::uint64_t holder = 0;
  for (std::uint32_t index = 0; index < words.layout.places; ++index) {
    if (ticket_state(words.place(index)) == TicketState::Held) {
      ++held;
      holder = ticket_of(words.place(index));
    }
  }
  ASSERT_LE(held, 1u);
  for (std::uint32_t index = 0; held == 1 && index < words.layout.places; ++index) {
    const std::uint64_t word = words.place(index);
    const bool is_open = ticket_state(word) == TicketState::Open;
    // Below the holder nobody waits; above it nobody holds, passes or has passed.
    ASSERT_TRUE(!is_open || ticket_of(word) > holder);
    ASSERT_TRUE(ticket_state(word) != TicketState::Passing || ticket_of(word) < holder);
    ASSERT_LE(ticket_of(word), holder + words.layout.places);
  }
}

// Free for the next to come, all places cleared.
void check_free(const TicketWords& words) {
  const std::uint64_t next = words.next();
  for (std::uint64_t ahead = 0; ahead < words.layout.places; ++ahead) {
    const TicketState state = ahead == 0 ? TicketState::Held : TicketState::Open;
    ASSERT_EQ(words.place(next + ahead), ticket_word(next + ahead, state))
        << "at the end, of ticket " << next + ahead;
  }
}

std::size_t explore(const TicketLayout& layout, std::vector<Script> scripts) {
  TicketModel model{layout, std::move(scripts)};
  model.explore([&] { check_one_holder(model.words()); }, [&] { check_free(model.words()); });
  EXPECT_GT(model.end_count(), 0u);
  return model.state_count();
}

TEST(TicketChain, ThreeTakersHoldOneAfterTheOther) {
  const Script once = taker(TakerHabits{});
  EXPECT_GT(explore({3, 8}, {once, once, once}), 1'000u);
}

TEST(TicketChain, TwoTakersOfThreeTicketsEachGoRoundTheirPlaces) {
  const Script thrice = taker({.takes = 3});
  EXPECT_GT(explore({2, 4}, {thrice, thrice}), 1'000u);
}

TEST(TicketChain, OneGroupGoesRoundTheSmallestLock) {
  EXPECT_GT(explore({1, 2}, {taker({.takes = 5, .may_leave = true})}), 10u);
}

TEST(TicketChain, WhoLeavesIsPassedByAndMayComeAgain) {
  EXPECT_GT(
      explore({2, 4},
              {taker({.takes = 2, .may_leave = true}), taker({.takes = 3, .may_leave = true})}),
      1'000u);
}

TEST(TicketChain, ThreeTakersWhoMayAllLeaveAreNeverLost) {
  const Script once = taker({.may_leave = true});
  EXPECT_GT(explore({3, 8}, {once, once, once}), 1'000u);
}

TEST(TicketChain, AHolderThatStaysIsRevokedAndTheNextIsServed) {
  const TakerHabits stays{.may_be_revoked = true, .keeps_last = true};
  const TakerHabits other{.takes = 2, .may_leave = true, .may_be_revoked = true};
  // Whichever ticket is the one that stays, it is revoked.
  EXPECT_GT(explore({2, 4}, {taker(stays), taker(other), revoker({0, 1, 2})}), 1'000u);
}

TEST(TicketChain, TwoRevokersAndALateBystanderGrantToNobodyTwice) {
  const Script once = taker({.may_be_revoked = true});
  EXPECT_GT(explore({2, 4}, {once, once, revoker({0}), bystander(0)}), 1'000u);
  EXPECT_GT(explore({2, 4}, {once, once, revoker({1}), revoker({1})}), 1'000u);
}

// The smallest lock has one other place, so a bystander can be late by laps.
TEST(TicketChain, HelpThatIsLateByLapsDoesNothing) {
  const Script taking = taker({.takes = 4, .may_leave = true, .may_be_revoked = true});
  EXPECT_GT(explore({1, 2}, {taking, bystander(0), revoker({0, 1})}), 1'000u);
}

TEST(TicketChain, WhoOnlyTriesNeverStandsInTheWay) {
  EXPECT_GT(explore({2, 4}, {taker({.takes = 3, .tries = true}), taker({.takes = 2})}), 1'000u);
  const TakerHabits tries{.takes = 2, .may_be_revoked = true, .tries = true};
  EXPECT_GT(explore({2, 4}, {taker(tries), taker({.may_be_revoked = true}), revoker({0})}), 1'000u);
}

}  // namespace
}  // namespace gcoord::netcore
