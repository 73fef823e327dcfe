#include "netcore/ticket/peek.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::netcore {
namespace {

void count(TicketPeek& look, std::uint64_t word) {
  const std::uint64_t ticket = ticket_of(word);
  const bool is_drawn = ticket < look.next;
  switch (ticket_state(word)) {
    case TicketState::Open:
      look.waiting += is_drawn ? 1u : 0u;
      break;
    case TicketState::Held:
      if (is_drawn) {
        look.holder = std::max(look.holder.value_or(0), ticket);
      }
      break;
    case TicketState::Passing:
      look.passing = std::max(look.passing.value_or(0), ticket);
      break;
    case TicketState::Abandoned:
      ++look.abandoned;
      break;
  }
}

}  // namespace

TicketPeek look_at_tickets(std::span<std::byte> region, const TicketLayout& layout) {
  GCOORD_ASSERT(is_ticket_layout(layout));
  GCOORD_ASSERT(region.size() >= ticket_region_bytes(layout));
  const TicketWords words{region.data(), layout};
  TicketPeek look;
  look.next = words.next();
  look.fault = words.notice().fault != 0;
  for (std::uint32_t index = 0; index < layout.places; ++index) {
    const std::uint64_t word = words.place(index);
    if (is_ticket_word(word, index, layout.places)) {
      count(look, word);
    } else {
      ++look.broken;
    }
  }
  return look;
}

std::string TicketPeek::to_text() const {
  std::string text = "no holder";
  if (holder.has_value()) {
    text = "ticket " + std::to_string(*holder) + " holds it";
  } else if (passing.has_value()) {
    text = "ticket " + std::to_string(*passing) + " is handing it on";
  }
  text += ", " + std::to_string(waiting) + " wait, " + std::to_string(abandoned) + " left; " +
          std::to_string(next) + " drawn";
  return broken == 0 && !fault ? text : text + "; garbage in " + std::to_string(broken) + " places";
}

}  // namespace gcoord::netcore
