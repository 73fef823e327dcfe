// Waiting that always ends: for room in a ring, for a slot, for an answer (O10 of
// docs/internals/memory_order.md).
//
// A waiter spins, then backs off, and between spins looks at three things it does not control: the
// abort word, the channel's control words and the clock. Each of them ends the wait with a status
// of its own. Nothing here traps, asserts on a peer or loops without a constant bound: a peer that
// was stopped or killed costs the waiter its deadline and no more.
//
// Contract: called by all `Members` (common/device/member_group.h: a warp, or one thread alone);
// `attempt` gives every member the same answer. Times are nanoseconds of device_now_ns(). The
// control words lie in the waiter's own memory and the host stores into them by a copy. They must
// not lie in pinned memory: reads of one line across PCIe take turns at 0.9 us each, so a thousand
// warps that looked there kept each other from polling for milliseconds (measured: 0.05 G slots/s
// instead of 3 G over NVLink).
#pragma once

#include "common/device/member_group.h"
#include "common/device/memory_device.h"
#include "common/hd.h"
#include "netcore/memory/order.h"

#include <cstdint>

namespace gcoord::netcore {

enum class WaitStatus : std::uint8_t {
  Ready,         // The attempt succeeded.
  TimedOut,      // The deadline passed: -ETIMEDOUT of the device sockets.
  Aborted,       // The host asked every waiter to leave.
  EpochChanged,  // The channel lives on under another epoch, or not at all: get a new handle.
  ChannelReset,  // The peer broke the protocol; the owner makes a new epoch.
};

// Written by the host (abort, epoch) and by any end that meets hostile input (fault); read by
// waiters. One line per channel, in memory of the side that waits.
struct alignas(64) ChannelControl {
  std::uint64_t abort = 0;  // Not 0: leave.
  std::uint64_t epoch = 0;  // The epoch that lives now.
  std::uint64_t fault = 0;  // A DropReason, as a number: the channel is to be reset.
  std::uint64_t reserved[5] = {};
};

static_assert(sizeof(ChannelControl) == 64);

// 64 polls of local memory are about 30 us on a device: longer than any round trip, shorter than
// what anybody would notice. Then the group sleeps, at first 0.25 us, doubling to 16 us.
inline constexpr std::uint32_t kSpinsPerRound = 64;
inline constexpr std::uint32_t kPauseNsMin = 250;
inline constexpr std::uint32_t kPauseNsMax = 16'000;
// A constant bound even if a clock stood still: at the longest pause, some hours.
inline constexpr std::uint32_t kRoundsMax = 1u << 28;

struct WaitGate {
  ChannelControl* control = nullptr;
  std::uint32_t epoch = 0;                   // The one under which the caller's handle was made.
  std::uint64_t deadline_ns = 0;             // On the clock of the side that waits.
  std::uint32_t pause_ns_max = kPauseNsMax;  // Shorter for who is alone at what it polls.
};

// Ready: nothing speaks against waiting on. One member looks and all get its answer.
template <typename Members = WarpMembers>
GCOORD_HD WaitStatus gate_verdict(const WaitGate& gate) {
  auto verdict = WaitStatus::Ready;
  if (Members::rank() == 0) {
    if (SystemOrder::peek(gate.control->abort) != 0) {
      verdict = WaitStatus::Aborted;
    } else if (SystemOrder::peek(gate.control->epoch) != gate.epoch) {
      verdict = WaitStatus::EpochChanged;
    } else if (SystemOrder::peek(gate.control->fault) != 0) {
      verdict = WaitStatus::ChannelReset;
    } else if (device_now_ns() >= gate.deadline_ns) {
      verdict = WaitStatus::TimedOut;
    }
  }
  return static_cast<WaitStatus>(Members::broadcast(static_cast<std::uint32_t>(verdict), 0));
}

// Calls `attempt` until it says true or the gate closes. An attempt is made before anything else,
// so what is there already never costs a look at the clock.
template <typename Members = WarpMembers, typename Attempt>
GCOORD_HD WaitStatus bounded_wait(const WaitGate& gate, Attempt&& attempt) {
  std::uint32_t pause_ns = kPauseNsMin;
  for (std::uint32_t round = 0; round < kRoundsMax; ++round) {
    for (std::uint32_t spin = 0; spin < kSpinsPerRound; ++spin) {
      if (attempt()) {
        return WaitStatus::Ready;
      }
    }
    const WaitStatus verdict = gate_verdict<Members>(gate);
    if (verdict != WaitStatus::Ready) [[unlikely]] {
      return verdict;
    }
    device_pause(pause_ns);
    pause_ns = pause_ns * 2 < gate.pause_ns_max ? pause_ns * 2 : gate.pause_ns_max;
  }
  return WaitStatus::TimedOut;
}

}  // namespace gcoord::netcore
