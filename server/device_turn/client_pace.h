// Polling interval of a group for its clients' ring, counted in polls of its peers' lanes.
//
// Why: on a device a look at the clients' ring waits for a round trip across PCIe, a microsecond in
// which no peer is heard (docs/adr/0072). So looks in vain come at ever greater distances, and soon
// again after somebody was answered, who is likely to ask again; in between, turns with work bring
// the next look nearer, because whoever asks waits for them already. Many stripes would slow each
// other down, and a host's look costs nothing. One owner; pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord::server {

// What a turn with work was to the group's clients.
enum class TurnWork : std::uint8_t {
  Answers = 0,  // One of their requests was answered.
  Many = 1,     // Several rows had their turn, which takes long.
  One = 2,      // One row had.
};

struct ClientPace {
  std::uint32_t turns = 1;    // With work, between two looks.
  std::uint32_t between = 1;  // Looks at the peers' lanes between two, while somebody asks,
  std::uint32_t most = 1;     // and while nobody does.
  std::uint32_t pace = 1;     // What it is now,
  std::uint32_t left = 1;     // and how many are left.

  // Whether this look at the peers' lanes is also one at the clients' ring: then looked() follows.
  GCOORD_HD bool is_due() {
    --left;
    return left == 0;
  }

  GCOORD_HD void looked(bool found) {
    const std::uint32_t later = 2 * pace < most ? 2 * pace : most;
    pace = found ? between : later;
    left = pace;
  }

  GCOORD_HD void turned(TurnWork work) {
    if (work == TurnWork::Answers) {
      pace = pace < turns ? pace : turns;
    }
    const std::uint32_t soon = work == TurnWork::One ? kShortTurns * turns : turns;
    left = left < soon ? left : soon;
  }

  // The next look is one: what was found could not be taken.
  GCOORD_HD void look_again() { left = 1; }

  // Turns of one row take so many times less than others.
  static constexpr std::uint32_t kShortTurns = 4;
};

// Stripes up to which a group looks after every turn; and looks, for a group whose members are
// threads of a host.
inline constexpr std::uint32_t kEagerStripes = 16;
// Most looks between two where stripes are few.
inline constexpr std::uint32_t kIdleLooks = 16;
inline constexpr std::uint32_t kLookStripes = 4;

// As a group of `stripe_count` begins, whose first look is one.
GCOORD_HD constexpr ClientPace client_pace(std::uint32_t stripe_count, bool on_device) {
  ClientPace pace;
  pace.turns = stripe_count <= kEagerStripes ? 1 : 2 + stripe_count / kEagerStripes;
  pace.between = on_device ? 4 + stripe_count / kLookStripes : pace.turns;
  pace.most = on_device && pace.between < kIdleLooks ? kIdleLooks : pace.between;
  pace.pace = pace.between;
  return pace;
}

}  // namespace gcoord::server
