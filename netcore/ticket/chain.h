// Hand-over of a ticket lock from one ticket to the next, in steps that any thread may take and
// repeat.
//
// A ticket is *past* once its place says Passing or Abandoned, or belongs to a later ticket. Words
// only go forward (ticket_word.h), so what is past stays past. One rule carries everything:
//
//   G   A ticket x is granted (Open(x) -> Held(x)) only by one who saw all tickets below x past.
//
// At most one holder: let x < y both be Held. y was granted after x was seen past, and what is past
// is never Held again. So help grants to nobody twice, whoever helps, however late, however many:
// a compare-and-swap on the whole word (ticket and state) either makes a grant that G allows or
// fails. hand_on(t) obeys G: t is Passing or later, so t was granted, so (by G) all below t are
// past; it then goes over t + 1, t + 2, .. and grants the first that it does not find past. If all
// other places are past, the next is t + places, at t's own place: Passing(t) becomes Held(t +
// places).
//
// Nobody is lost: as long as t is Passing, anybody who calls hand_on(t) brings the grant to the
// first ticket that is not past, and only then ends Passing(t). The calls that can be needed: by
// the releaser, by a revoker (revoke_ticket), and by whoever wants t's place for t + places.
//
// Data: every change of a place is a compare-and-swap with release and acquire. Whoever grants x
// saw the last holder's step out of Held, or a later change of that same word; a chain of such
// swaps carries what that holder wrote before its release to x's taker, who observes Held(x) with
// acquire. A holder that was *revoked* has published nothing and may still be writing: that is what
// fencing tokens are for (ticket_lock.h).
//
// Sources: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors", TOCS 1991 (tickets); Anderson, "The performance of spin lock alternatives",
// TPDS 1990 (a place of its own for each waiter); Scott and Scherer, "Scalable queue-based spin
// locks with timeout", PPoPP 2001 (leaving the queue; who passes by cleans up). The grant ahead,
// helped passing and revocation are ours.
//
// Contract: each function is called by one thread, waits for nobody and takes at most some `places`
// steps. Hostile memory: a word that cannot be ends it with Broken; it never loops on. `Order`
// names the scope that all users of a lock share (memory_order.h). Host and device.
#pragma once

#include "common/hd.h"
#include "netcore/ticket/word.h"

#include <cstdint>

namespace gcoord::netcore {

// What one ticket's place says about it.
enum class TicketPosition : std::uint8_t {
  Early,   // The place still belongs to a ticket of a lap before.
  Queued,  // Open: not granted yet.
  Held,
  Gone,    // Past: released, revoked or abandoned.
  Broken,  // Garbage.
};

// How a step of the chain ended.
enum class TicketStep : std::uint8_t {
  Done,     // This call did it.
  Already,  // It was so before, by somebody else or since it is over.
  Broken,
};

GCOORD_HD constexpr TicketPosition ticket_place(std::uint64_t word,
                                                std::uint64_t ticket,
                                                std::uint32_t places) {
  if (!is_ticket_word(word, ticket, places)) {
    return TicketPosition::Broken;
  }
  const std::uint64_t found = ticket_of(word);
  if (found != ticket) {
    return found < ticket ? TicketPosition::Early : TicketPosition::Gone;
  }
  switch (ticket_state(word)) {
    case TicketState::Open:
      return TicketPosition::Queued;
    case TicketState::Held:
      return TicketPosition::Held;
    default:
      return TicketPosition::Gone;
  }
}

// The ticket a lap before, whose passing waits only to be finished.
GCOORD_HD constexpr std::uint64_t passing_lap_before(std::uint64_t ticket, std::uint32_t places) {
  return ticket_word(ticket - places, TicketState::Passing);
}

// Grants `ticket`, all below it being past, or finds it past (`*is_past`) and clears its place if
// it was abandoned. Done: granted by this call.
template <typename Order>
GCOORD_HD TicketStep offer_ticket(const TicketWords& words, std::uint64_t ticket, bool* is_past) {
  const std::uint32_t places = words.layout.places;
  std::uint64_t& place = words.place(ticket);
  *is_past = false;
  // Each round but the last ends by moving the word on; a lap has no more moves than this.
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::uint64_t found = Order::turn(
        place, ticket_word(ticket, TicketState::Open), ticket_word(ticket, TicketState::Held));
    switch (ticket_place(found, ticket, places)) {
      case TicketPosition::Queued:
        return TicketStep::Done;
      case TicketPosition::Held:
        return TicketStep::Already;
      case TicketPosition::Early:
        // That one is below a ticket that was granted: its grant went on, and only the last step of
        // its passing is missing.
        if (found != passing_lap_before(ticket, places)) {
          return TicketStep::Broken;
        }
        Order::turn(place, found, ticket_word(ticket, TicketState::Open));
        break;
      case TicketPosition::Gone:
        if (ticket_of(found) == ticket && ticket_state(found) == TicketState::Passing) {
          return TicketStep::Already;  // It was granted, and its own passing goes on from there.
        }
        if (ticket_of(found) == ticket) {
          Order::turn(place, found, ticket_word(ticket + places, TicketState::Open));
        }
        *is_past = true;
        return TicketStep::Already;
      case TicketPosition::Broken:
        return TicketStep::Broken;
    }
  }
  return TicketStep::Broken;
}

// Brings the grant on from `ticket`, which is Passing or was, and clears its place. May be repeated
// by anybody at any time.
template <typename Order>
GCOORD_HD TicketStep hand_on(const TicketWords& words, std::uint64_t ticket) {
  const std::uint32_t places = words.layout.places;
  bool all_past = true;
  for (std::uint32_t ahead = 1; ahead < places && all_past; ++ahead) {
    if (offer_ticket<Order>(words, ticket + ahead, &all_past) == TicketStep::Broken) {
      return TicketStep::Broken;
    }
  }
  const TicketState next = all_past ? TicketState::Held : TicketState::Open;
  const std::uint64_t passing = ticket_word(ticket, TicketState::Passing);
  const std::uint64_t found =
      Order::turn(words.place(ticket), passing, ticket_word(ticket + places, next));
  return found == passing ? TicketStep::Done : TicketStep::Already;
}

// The holder's release. Already: the ticket is not held any more, by a revocation, and nothing was
// done. Broken may mean that it was released and could not be handed on.
template <typename Order>
GCOORD_HD TicketStep release_ticket(const TicketWords& words, std::uint64_t ticket) {
  const std::uint64_t held = ticket_word(ticket, TicketState::Held);
  const std::uint64_t found =
      Order::turn(words.place(ticket), held, ticket_word(ticket, TicketState::Passing));
  if (found == held) {
    return hand_on<Order>(words, ticket) == TicketStep::Broken ? TicketStep::Broken
                                                               : TicketStep::Done;
  }
  const TicketPosition place = ticket_place(found, ticket, words.layout.places);
  return place == TicketPosition::Gone ? TicketStep::Already : TicketStep::Broken;
}

// Takes a drawn ticket out of the line, wherever it is: a waiter's is abandoned, a holder's handed
// on. Already: it was past, and its passing is finished now, or it was never drawn, or is so far
// behind that its place is another's still. May be repeated by anybody at any time.
template <typename Order>
GCOORD_HD TicketStep revoke_ticket(const TicketWords& words, std::uint64_t ticket) {
  if (ticket >= Order::peek(words.next())) {
    return TicketStep::Already;
  }
  std::uint64_t& place = words.place(ticket);
  std::uint64_t found = Order::observe(place);
  // A ticket has two moves of its own before it is past, and perhaps the last one of the ticket a
  // lap before is still to be made.
  for (std::uint32_t round = 0; round < 4; ++round) {
    const TicketPosition at = ticket_place(found, ticket, words.layout.places);
    if (at == TicketPosition::Broken) {
      return TicketStep::Broken;
    }
    if (at == TicketPosition::Early && ticket_state(found) == TicketState::Passing && round == 0) {
      if (hand_on<Order>(words, ticket_of(found)) == TicketStep::Broken) {
        return TicketStep::Broken;
      }
      found = Order::observe(place);
      continue;
    }
    if (found == ticket_word(ticket, TicketState::Passing)) {
      return hand_on<Order>(words, ticket);
    }
    if (at != TicketPosition::Queued && at != TicketPosition::Held) {
      return TicketStep::Already;
    }
    const bool was_held = at == TicketPosition::Held;
    const std::uint64_t taken_out =
        ticket_word(ticket, was_held ? TicketState::Passing : TicketState::Abandoned);
    const std::uint64_t before = Order::turn(place, found, taken_out);
    if (before == found) {
      return was_held ? hand_on<Order>(words, ticket) : TicketStep::Done;
    }
    found = before;
  }
  return TicketStep::Broken;
}

// A look at the own ticket's place, as a waiter takes again and again. Queued: look again. If the
// place still belongs to the ticket a lap before and that one's passing is only to be finished, so
// it is. Early: it waits for others, which is so only if more groups use the lock than it is for.
template <typename Order>
GCOORD_HD TicketPosition look_at_ticket(const TicketWords& words, std::uint64_t ticket) {
  const std::uint64_t found = Order::observe(words.place(ticket));
  const TicketPosition place = ticket_place(found, ticket, words.layout.places);
  if (place == TicketPosition::Early && ticket_state(found) == TicketState::Passing) {
    const TicketStep step = hand_on<Order>(words, ticket_of(found));
    return step == TicketStep::Broken ? TicketPosition::Broken : TicketPosition::Queued;
  }
  return place;
}

// A waiter leaves the line. Already: it holds the lock, or its ticket is gone; `*found` says which.
// Early in `*found`: it could not leave, see look_at_ticket().
template <typename Order>
GCOORD_HD TicketStep abandon_ticket(const TicketWords& words,
                                    std::uint64_t ticket,
                                    TicketPosition* found) {
  const std::uint64_t open = ticket_word(ticket, TicketState::Open);
  // A second time if only the passing of the ticket a lap before was in the way.
  for (std::uint32_t round = 0; round < 2; ++round) {
    const std::uint64_t before =
        Order::turn(words.place(ticket), open, ticket_word(ticket, TicketState::Abandoned));
    *found = ticket_place(before, ticket, words.layout.places);
    if (*found == TicketPosition::Queued) {
      return TicketStep::Done;
    }
    if (*found != TicketPosition::Early) {
      break;
    }
    look_at_ticket<Order>(words, ticket);
  }
  return *found == TicketPosition::Broken ? TicketStep::Broken : TicketStep::Already;
}

// Draws the next ticket if it is granted already: the lock is free and nobody waits. Held: it is
// the caller's. Queued: nothing was drawn. Gone: it was drawn and taken away at once.
template <typename Order>
GCOORD_HD TicketPosition draw_if_free(const TicketWords& words, std::uint64_t* ticket) {
  *ticket = Order::peek(words.next());
  const TicketPosition before =
      ticket_place(Order::observe(words.place(*ticket)), *ticket, words.layout.places);
  if (before == TicketPosition::Broken) {
    return before;
  }
  // Gone: others were faster than the look at `next`. A ticket that is granted has its place, so
  // this draw needs no look for room.
  const bool is_drawn =
      before == TicketPosition::Held && Order::turn(words.next(), *ticket, *ticket + 1) == *ticket;
  return is_drawn ? ticket_place(Order::observe(words.place(*ticket)), *ticket, words.layout.places)
                  : TicketPosition::Queued;
}

// Is there a place for the ticket that would be drawn now, even if all groups draw at once?
//
// Places are cleared in order but for those that are Passing, which anybody may finish: so if
// ticket n + groups - 1 has its place, all below have. Let n be the next ticket when this is asked,
// and let the asker then draw t. Of the last groups + 1 draws up to t, two were made by one group,
// and before the later of them it asked, when n was above t - groups: so t has a place. (Less than
// groups + 1 draws: t is below groups, and has one from the start.) Already: no room now. This is
// why those who leave the line and come again do not overrun it.
template <typename Order>
GCOORD_HD TicketStep look_for_room(const TicketWords& words) {
  const std::uint64_t last = Order::peek(words.next()) + words.layout.groups - 1;
  const std::uint64_t found = Order::observe(words.place(last));
  switch (ticket_place(found, last, words.layout.places)) {
    case TicketPosition::Early:
      return found == passing_lap_before(last, words.layout.places) ? TicketStep::Done
                                                                    : TicketStep::Already;
    case TicketPosition::Broken:
      return TicketStep::Broken;
    default:
      return TicketStep::Done;
  }
}

}  // namespace gcoord::netcore
