// Work that checks a ticket lock by what it protects: what benchmarks and tests run, on host and
// device alike.
//
// Each group takes the lock again and again, and adds one to words that nothing else protects: its
// members read and write them with ordinary loads and stores. If their sums are the number of
// holds, no two groups were in at once and each saw what the one before it wrote. Each hold's token
// is compared with the last one's. Some takes have a deadline that is too short, so that lines have
// gaps.
//
// Hand-overs are timed from grant to grant, with the work above between them. Where both grants
// were seen by one device's clock that is exact; where a grant went to another device and came
// back, half of the round is taken. Host and device.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "netcore/ticket/lock.h"

#include <cstdint>

namespace gcoord::netcore {

// What the lock protects, in memory that all sides map. Starts as zeros.
struct alignas(128) TicketGuarded {
  std::uint64_t holds[32] = {};  // By member of a group; a host thread has one.
  std::uint64_t token = 0;       // Of the last hold.
  std::uint32_t side[2] = {};    // Who held it last, and before: 1 + the side.
  std::uint64_t granted_ns[2] = {};
};

struct TicketProbeOptions {
  std::uint64_t takes = 0;                     // Per group.
  std::uint32_t short_of_1024 = 0;             // So many takes of 1024 have the short deadline.
  std::uint32_t try_of_1024 = 0;               // So many only try.
  std::uint64_t short_ns = 0;                  // The short deadline.
  std::uint64_t timeout_ns = 0;                // For all of it.
  std::uint64_t stays_at = ~std::uint64_t{0};  // Group 0 ends with this take's hold unreleased.
  std::uint64_t seed = 0;
};

struct TicketProbeResult {
  std::uint64_t held = 0;
  std::uint64_t left = 0;     // Takes that ended without the lock: left, full or busy.
  std::uint64_t revoked = 0;  // Tickets or holds that were taken away.
  std::uint64_t wrong = 0;    // 0, or something is broken.
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t last_ticket = 0;                    // Of the last hold.
  TicketVerdict verdict = TicketVerdict::Released;  // What ended the probe; Released: all takes.
};

// A hand-over in nanoseconds; over devices: half of a round trip.
struct TicketSample {
  std::uint32_t nanoseconds = 0;
  std::uint32_t is_over_devices = 0;
};

struct TicketProbeWork {
  TicketLockDevice lock;
  TicketGuarded* guarded = nullptr;
  TicketProbeOptions probe;
  std::uint32_t group_count = 0;
  std::uint32_t side = 0;                // Which device this is, of those that share the lock.
  TicketProbeResult* results = nullptr;  // A place per group.
  TicketSample* samples = nullptr;       // By ticket; in memory of this device. Null: none.
  std::uint32_t sample_count = 0;        // A power of two.
};

// What one holder does. Returns a sample of the hand-over to it.
GCOORD_HD inline TicketSample hold_ticket(const TicketProbeWork& work,
                                          const TicketHold& hold,
                                          TicketProbeResult& result) {
  TicketGuarded& guarded = *work.guarded;
  TicketSample sample;
  ++guarded.holds[warp_rank()];
  if (warp_rank() == 0) {
    const std::uint64_t now_ns = device_now_ns();
    const std::uint32_t self = work.side + 1;
    result.wrong += guarded.token < hold.fencing_token() ? 0u : 1u;
    const bool follows = guarded.token + 1 == hold.fencing_token();
    guarded.token = hold.fencing_token();
    if (follows && guarded.side[0] == self) {
      sample.nanoseconds = static_cast<std::uint32_t>(now_ns - guarded.granted_ns[0]);
    } else if (follows && guarded.side[1] == self) {
      sample.nanoseconds = static_cast<std::uint32_t>((now_ns - guarded.granted_ns[1]) / 2);
      sample.is_over_devices = 1;
    }
    guarded.side[1] = guarded.side[0];
    guarded.granted_ns[1] = guarded.granted_ns[0];
    guarded.side[0] = self;
    guarded.granted_ns[0] = now_ns;
  }
  return sample;
}

// How the next take of this group is made.
template <typename Order>
GCOORD_HD TicketVerdict probe_take(const TicketProbeWork& work,
                                   std::uint64_t word,
                                   std::uint64_t end_ns,
                                   TicketHold* hold) {
  const TicketLock<Order> lock{work.lock};
  const std::uint32_t chance = static_cast<std::uint32_t>(word & 1023);
  if (chance < work.probe.try_of_1024) {
    return lock.try_take(~std::uint64_t{0}, hold);
  }
  TicketOptions options;
  options.deadline_ns = chance < work.probe.try_of_1024 + work.probe.short_of_1024
                            ? device_now_ns() + work.probe.short_ns
                            : end_ns;
  return lock.take(options, hold);
}

// Does a verdict end the probe? Counts it if not.
GCOORD_HD inline bool ends_probe(TicketVerdict verdict, TicketProbeResult& result) {
  switch (verdict) {
    case TicketVerdict::Busy:
    case TicketVerdict::TimedOut:
    case TicketVerdict::Full:
      ++result.left;
      return false;
    case TicketVerdict::Revoked:
      ++result.revoked;
      return false;
    case TicketVerdict::Held:
    case TicketVerdict::Released:
      return false;
    default:
      return true;
  }
}

// One hold, from grant to release. Released, Revoked or Broken; Held if it was to stay.
template <typename Order>
GCOORD_HD TicketVerdict probe_hold(const TicketProbeWork& work,
                                   const TicketHold& hold,
                                   bool stays,
                                   TicketProbeResult& result) {
  const TicketSample sample = hold_ticket(work, hold, result);
  ++result.held;
  result.last_ticket = hold.ticket;
  if (stays) {
    return TicketVerdict::Held;
  }
  const TicketVerdict verdict = TicketLock<Order>{work.lock}.release(hold);
  if (work.samples != nullptr && warp_rank() == 0) {
    work.samples[hold.ticket & (work.sample_count - 1)] = sample;
  }
  return verdict;
}

// All takes of one group, its result stored.
template <typename Order = SystemOrder>
GCOORD_HD void run_ticket_probe(const TicketProbeWork& work, std::uint32_t group) {
  TicketProbeResult result;
  result.began_ns = device_now_ns();
  const std::uint64_t end_ns = warp_broadcast(result.began_ns, 0) + work.probe.timeout_ns;
  for (std::uint64_t take = 0; take < work.probe.takes; ++take) {
    const std::uint64_t word = random64(work.probe.seed + work.side, group, take);
    TicketHold hold;
    TicketVerdict verdict = probe_take<Order>(work, word, end_ns, &hold);
    const bool stays = group == 0 && take == work.probe.stays_at;
    if (verdict == TicketVerdict::Held) {
      verdict = probe_hold<Order>(work, hold, stays, result);
    }
    const bool is_late = warp_broadcast(device_now_ns(), 0) >= end_ns;
    if (ends_probe(verdict, result) || stays || is_late) {
      result.verdict = is_late ? TicketVerdict::TimedOut : verdict;
      break;
    }
  }
  result.ended_ns = device_now_ns();
  if (warp_rank() == 0) {
    work.results[group] = result;
  }
}

}  // namespace gcoord::netcore
