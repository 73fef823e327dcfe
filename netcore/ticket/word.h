// The words of a ticket lock in memory: what they say and where they lie.
//
// A ticket is a number that is drawn once. It has a place, number `ticket % places` of an array,
// and the place's word says whose it is and how far that ticket came:
//
//   Open(t) -> Held(t) -> Passing(t) -> Open(t + places)
//   Open(t) -> Abandoned(t)          -> Open(t + places)
//
// Open: not granted, whether anybody has drawn it or not. Held: granted. Passing: its holder is
// done, or was declared so, and the grant to the next one may be under way. Abandoned: its taker
// left. A word only goes forward along these arrows (and from Passing(t) to Held(t + places), when
// all others left), so no word ever comes back and a compare-and-swap never mistakes an old one for
// a new one. 61 bits of ticket are 70 years at a thousand million a second.
//
//   region:  header | next | notice | a line per place          (lines of 128 bytes)
//
// Whoever maps a region may write anything into it. Nothing is taken from it that was not checked
// against the layout, which each side has from elsewhere; a word that no ticket of its place could
// have is garbage. Pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

// Never renumber: processes of two builds may share a region. 0 is no state, so that memory that
// was never written is garbage.
enum class TicketState : std::uint8_t { Open = 1, Held = 2, Passing = 3, Abandoned = 4 };

inline constexpr std::uint32_t kTicketStateBits = 3;
inline constexpr std::uint32_t kTicketPlacesMax = 1u << 20;  // 128 MiB of lines.
inline constexpr std::size_t kTicketLineBytes = 128;         // What a device moves at once.

// How a lock is cut; all who use it give the same.
struct TicketLayout {
  std::uint32_t groups = 0;  // At most so many groups use the lock at any time, in all processes.
  std::uint32_t places =
      0;  // A power of two, at least 2 * groups: what is over holds those who left.
};

// May come from outside, so nothing is asserted.
GCOORD_HD constexpr bool is_ticket_layout(const TicketLayout& layout) {
  const bool is_power = (layout.places & (layout.places - 1)) == 0;
  return layout.groups != 0 && is_power && layout.places <= kTicketPlacesMax &&
         layout.places / 2 >= layout.groups;
}

GCOORD_HD constexpr std::uint64_t ticket_word(std::uint64_t ticket, TicketState state) {
  return ticket << kTicketStateBits | static_cast<std::uint64_t>(state);
}

GCOORD_HD constexpr std::uint64_t ticket_of(std::uint64_t word) {
  return word >> kTicketStateBits;
}

// Only of a word that is_ticket_word().
GCOORD_HD constexpr TicketState ticket_state(std::uint64_t word) {
  return static_cast<TicketState>(word & ((1u << kTicketStateBits) - 1));
}

// May the place of `ticket` ever hold this word?
GCOORD_HD constexpr bool is_ticket_word(std::uint64_t word,
                                        std::uint64_t ticket,
                                        std::uint32_t places) {
  const std::uint64_t state = word & ((1u << kTicketStateBits) - 1);
  const bool is_state = state >= static_cast<std::uint64_t>(TicketState::Open) &&
                        state <= static_cast<std::uint64_t>(TicketState::Abandoned);
  return is_state && ((ticket_of(word) ^ ticket) & (places - 1)) == 0;
}

inline constexpr std::uint64_t kTicketMagic = 0x4b434f4c54434747;  // "GGCTLOCK" as bytes.
inline constexpr std::uint32_t kTicketVersion = 1;

// Written once by the creator, compared by whoever imports the region. Little-endian; never
// renumber.
struct TicketHeader {
  std::uint64_t magic = kTicketMagic;
  std::uint32_t version = kTicketVersion;
  std::uint32_t groups = 0;
  std::uint32_t places = 0;
  std::uint32_t reserved = 0;
};

static_assert(sizeof(TicketHeader) == 24);

// What all who wait look at now and then.
struct TicketNotice {
  std::uint64_t revoke = 0;  // 1 + the ticket that is to be revoked by whoever sees this; 0: none.
  std::uint64_t fault = 0;   // Not 0: somebody met garbage. The lock is to be made anew.
};

// Bytes of a whole region.
GCOORD_HD constexpr std::size_t ticket_region_bytes(const TicketLayout& layout) {
  return (3 + std::size_t{layout.places}) * kTicketLineBytes;
}

// A region of that layout, wherever it is mapped. A plain value; owns nothing.
struct TicketWords {
  std::byte* region = nullptr;
  TicketLayout layout;

  // The next ticket to be drawn.
  GCOORD_HD std::uint64_t& next() const {
    return *reinterpret_cast<std::uint64_t*>(region + kTicketLineBytes);
  }

  GCOORD_HD TicketNotice& notice() const {
    return *reinterpret_cast<TicketNotice*>(region + 2 * kTicketLineBytes);
  }

  GCOORD_HD std::uint64_t& place(std::uint64_t ticket) const {
    const std::uint64_t index = ticket & (layout.places - 1);
    return *reinterpret_cast<std::uint64_t*>(region + (3 + index) * kTicketLineBytes);
  }
};

// What place number `index` holds in a lock that nobody has used: ticket 0 is granted ahead.
GCOORD_HD constexpr std::uint64_t first_ticket_word(std::uint32_t index) {
  return ticket_word(index, index == 0 ? TicketState::Held : TicketState::Open);
}

}  // namespace gcoord::netcore
