// Loop of a group's turns: for the node's life, or once. The bodies of the drivers' kernels.
//
// Contract: as device_turn.h. Every loop ends: at the clock's word, at the node's abort word, at
// the deadline of its timing, and after kTurnsMax looks whatever happens. Host and device.
#pragma once

#include "common/hd.h"
#include "server/device_turn/turn.h"

#include <cstdint>

namespace gcoord::server {

// Looks in vain of all groups of a block before they pause: some hundred microseconds.
inline constexpr std::uint32_t kQuietLooks = 256;
// What a pause costs an answer that comes in it.
inline constexpr std::uint32_t kQuietPauseNs = 1000;
inline constexpr std::uint32_t kClockPauseNs = 500;
// Looks between two looks at the clock of the device and the abort word, for the case that nobody
// reads the node's clock.
inline constexpr std::uint32_t kGuardLooks = 1024;
inline constexpr std::uint64_t kTurnsMax = std::uint64_t{1} << 42;

template <typename Service>
GCOORD_HD bool must_leave(const TurnNode<Service>& node,
                          const TurnTiming& timing,
                          std::uint64_t began_ns) {
  std::uint32_t leave = 0;
  if (warp_rank() == 0) {
    const bool overdue = timing.life_ns != 0 && device_now_ns() - began_ns >= timing.life_ns;
    leave = overdue || netcore::SystemOrder::peek(node.control->abort) != 0 ? 1 : 0;
  }
  return warp_broadcast(leave, 0) != 0;
}

// Turns one stripe until the node stops.
template <typename Service>
GCOORD_HD_FLAT void run_stripe(const TurnNode<Service>& node,
                               const TurnTiming& timing,
                               std::uint32_t stripe,
                               WorkspaceFor<Service>& desk) {
  const std::uint64_t began_ns = device_now_ns();
  TurnStripe<Service> worker(node, stripe, desk);
  std::uint32_t quiet = 0;
  for (std::uint64_t looks = 1; looks < kTurnsMax && !worker.leaves(); ++looks) {
    static_cast<void>(worker.turn());
    quiet = worker.rests() ? quiet + 1 : 0;
    if (quiet > kQuietLooks) {
      device_pause(kQuietPauseNs);
    }
    if (looks % kGuardLooks == 0 && must_leave(node, timing, began_ns)) {
      break;
    }
  }
  worker.close();
}

// Reads the clock until the node stops.
template <typename Service>
GCOORD_HD void run_clock(const TurnNode<Service>& node, const TurnTiming& timing) {
  NodeClock<Service> clock(node, timing);
  for (std::uint64_t looks = 0; looks < kTurnsMax; ++looks) {
    std::uint64_t now_ns = 0;
    if (warp_rank() == 0) {
      now_ns = device_now_ns();
    }
    if (!clock.read(warp_broadcast(now_ns, 0))) {
      break;
    }
    device_pause(kClockPauseNs);
  }
}

// One turn of one stripe.
template <typename Service>
GCOORD_HD_FLAT void turn_stripe(const TurnNode<Service>& node,
                                std::uint32_t stripe,
                                WorkspaceFor<Service>& desk) {
  TurnStripe<Service> worker(node, stripe, desk);
  worker.turn();
  worker.close();
}

// One reading of the clock.
template <typename Service>
GCOORD_HD void turn_clock(const TurnNode<Service>& node, const TurnTiming& timing) {
  std::uint64_t now_ns = 0;
  if (warp_rank() == 0) {
    now_ns = device_now_ns();
  }
  NodeClock<Service>(node, timing).read(warp_broadcast(now_ns, 0));
}

// The rows of one stripe as a cluster starts.
template <typename Service>
GCOORD_HD void start_stripe(const TurnNode<Service>& node, std::uint32_t stripe) {
  const RowRange rows = rows_of_stripe(node.shape, stripe);
  for (std::uint32_t row = rows.first + warp_rank(); row < rows.end; row += warp_lanes()) {
    start_row(node, row);
  }
}

}  // namespace gcoord::server
