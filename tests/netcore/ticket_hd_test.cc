// The words and steps of a ticket lock, on host and device alike.
#include "common/random.h"
#include "netcore/ticket/chain.h"
#include "tests/hd_test.h"

namespace gcoord::netcore {
namespace {

// A lock of a few places in memory of one thread: local memory on a device, where atomics do not
// reach, so its order is a plain one.
struct AloneOrder {
  GCOORD_HD static std::uint64_t observe(std::uint64_t& word) { return word; }

  GCOORD_HD static std::uint64_t peek(const std::uint64_t& word) { return word; }

  GCOORD_HD static std::uint64_t turn(std::uint64_t& word, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t found = word;
    word = found == from ? to : found;
    return found;
  }

  GCOORD_HD static std::uint64_t draw(std::uint64_t& word) { return word++; }
};

constexpr TicketLayout kLayout{2, 4};

struct alignas(128) SmallLock {
  std::byte region[ticket_region_bytes(kLayout)] = {};

  GCOORD_HD TicketWords words() {
    TicketWords words{region, kLayout};
    return words;
  }

  GCOORD_HD void begin() {
    for (std::uint32_t index = 0; index < kLayout.places; ++index) {
      words().place(index) = first_ticket_word(index);
    }
  }
};

HD_TEST(Ticket, WordsSayWhatWasPutIn) {
  const std::uint64_t ticket = mix64(seed) >> 4;
  for (const TicketState state :
       {TicketState::Open, TicketState::Held, TicketState::Passing, TicketState::Abandoned}) {
    const std::uint64_t word = ticket_word(ticket, state);
    HD_EXPECT(ticket_of(word) == ticket);
    HD_EXPECT(ticket_state(word) == state);
    HD_EXPECT(is_ticket_word(word, ticket + 8, 8));
    HD_EXPECT(!is_ticket_word(word, ticket + 1, 8));
    HD_EXPECT(!is_ticket_word(word | 7, ticket, 8));
  }
  HD_EXPECT(!is_ticket_word(0, 0, 8));
}

// Whoever leaves, is revoked or releases, in an order that the seed chooses: the lock goes on to
// the next, and is free when all are through.
HD_TEST(Ticket, GoesOnFromOneToTheNext) {
  SmallLock memory;
  memory.begin();
  const TicketWords words = memory.words();
  std::uint64_t holder = AloneOrder::draw(words.next());
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    HD_EXPECT(look_at_ticket<AloneOrder>(words, holder) == TicketPosition::Held);
    std::uint64_t none = 0;
    HD_EXPECT(draw_if_free<AloneOrder>(words, &none) == TicketPosition::Queued);
    HD_EXPECT(look_for_room<AloneOrder>(words) == TicketStep::Done);
    const std::uint64_t waiter = AloneOrder::draw(words.next());
    HD_EXPECT(look_at_ticket<AloneOrder>(words, waiter) == TicketPosition::Queued);
    const std::uint64_t chance = random64(seed, 1, turn) % 3;
    std::uint64_t next = waiter;
    if (chance == 0) {
      TicketPosition found = TicketPosition::Broken;
      HD_EXPECT(abandon_ticket<AloneOrder>(words, waiter, &found) == TicketStep::Done);
      HD_EXPECT(look_for_room<AloneOrder>(words) == TicketStep::Done);
      next = AloneOrder::draw(words.next());
    }
    const TicketStep step = chance == 1 ? revoke_ticket<AloneOrder>(words, holder)
                                        : release_ticket<AloneOrder>(words, holder);
    HD_EXPECT(step == TicketStep::Done);
    HD_EXPECT(release_ticket<AloneOrder>(words, holder) == TicketStep::Already);
    holder = next;
  }
  HD_EXPECT(release_ticket<AloneOrder>(words, holder) == TicketStep::Done);
  std::uint64_t last = 0;
  HD_EXPECT(draw_if_free<AloneOrder>(words, &last) == TicketPosition::Held);
  HD_EXPECT(last == holder + 1);
}

// Whatever a word of garbage is, every step ends.
HD_TEST(Ticket, GarbageEndsEveryStep) {
  SmallLock memory;
  memory.begin();
  const TicketWords words = memory.words();
  for (std::uint32_t turn = 0; turn < 16; ++turn) {
    const std::uint64_t word = random64(seed, 2, turn);
    words.place(word >> 60) = (word & 256) != 0 ? word : word & 127;
    words.next() = (word & 512) != 0 ? word >> 32 : word & 15;
    std::uint64_t ticket = 0;
    TicketPosition found = TicketPosition::Broken;
    draw_if_free<AloneOrder>(words, &ticket);
    look_for_room<AloneOrder>(words);
    look_at_ticket<AloneOrder>(words, word & 15);
    release_ticket<AloneOrder>(words, word >> 59);
    revoke_ticket<AloneOrder>(words, word >> 60);
    abandon_ticket<AloneOrder>(words, word >> 61, &found);
    hand_on<AloneOrder>(words, word);
  }
  HD_EXPECT(words.layout.places == kLayout.places);
}

}  // namespace
}  // namespace gcoord::netcore
