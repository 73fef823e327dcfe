// Snapshot of a ticket lock's holder and waiters, read from a copy of its memory: for operators,
// and for the host that decides whom to revoke.
//
// The copy need not be of one moment. What is said of a ticket was so at some time while the copy
// was made; a count is what any count of a line is that moves meanwhile. Host only; pure.
#pragma once

#include "netcore/ticket/word.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gcoord::netcore {

struct TicketPeek {
  std::uint64_t next = 0;  // So many tickets were drawn.
  // The ticket that holds the lock. None: it is free, or on its way from one to the next.
  std::optional<std::uint64_t> holder;
  // The last ticket that was released or revoked and has not been handed on. Seen again and again:
  // who was to do it is gone, and to revoke that ticket does it.
  std::optional<std::uint64_t> passing;
  std::uint64_t waiting = 0;    // Tickets in line.
  std::uint64_t abandoned = 0;  // Tickets whose takers left, not passed yet.
  std::uint32_t broken = 0;     // Places that hold garbage.
  bool fault = false;           // Somebody met garbage.

  // "ticket 17 holds it, 3 wait, 1 left; 21 drawn".
  std::string to_text() const;
};

// `region` is a copy of ticket_region_bytes(layout) bytes.
TicketPeek look_at_tickets(std::span<std::byte> region, const TicketLayout& layout);

}  // namespace gcoord::netcore
