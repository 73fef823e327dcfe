// A fair lock for groups of threads, in memory that all of them map: warps of kernels on one or
// several GPUs of a host, or threads of the host. No CPU is in the way of a hand-over.
//
// Who comes first is served first: a group draws a ticket, waits until its place says that it holds
// the lock, and releases it to the next one. It may leave the line at a deadline, at an abort or
// when the lock is closed. How a ticket passes on, and why at most one is held, is proved in
// ticket_chain.h; who makes and maps the memory is gpu_ticket_lock.h.
//
// Not the replicated lock service. This lock lives in one device's memory and dies with it, knows
// no sessions, and grants in some microseconds; the service survives nodes and takes a commit.
// docs/how-to/gpu_locks.md says which to use when.
//
// A holder that stops or dies holds on until somebody revokes its ticket: the host, which knows
// that the process is gone or that its time is over (GpuTicketLock::revoke), or anybody by
// revoke(). A holder that was revoked may not know it yet. So what the lock protects checks the
// fencing token, which rises with every grant, or the lock is of use only among those who cannot be
// revoked. `valid_until_ns` is the other guard: with a bound on holds, whoever sees a ticket hold
// the lock and waits that long from then revokes a holder whose own check has failed already. It
// counts from before the grant (the clock of the taker, read before it last found itself waiting),
// so it is never late; it may be early by one round of the wait, some 100 us.
//
// A waiter polls its own place, a line that nobody else polls, and backs off little. The places lie
// in the home device's memory, so waiters of other devices poll over NVLink, against rule O9 (push,
// poll locally): who will draw a place is not known when its memory is chosen, and a warp that
// waits for a lock has nothing else to do. Writing to a bell at the waiter costs the releaser a
// second trip, which is what the poll costs (docs/adr/0062).
//
// Contract: called by a whole group (common/device/warp_device.h), whose members get the same
// answer. What all of them wrote before release() is visible to all of the next group after its
// take(). One hold per group at a time. At most layout.groups groups use the lock at once, dead
// ones not counted; more than that get Full or Broken and the others may wait until their
// deadlines, but no two hold it. At most 2^60 draws. Every call ends: at the latest at its deadline
// and some `places` steps after. All processors reach the memory by native atomics (gpu_device.h).
// Times are nanoseconds of device_now_ns(). Host and device.
#pragma once

#include "common/device/memory_device.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/memory/bounded_wait.h"
#include "netcore/memory/order.h"
#include "netcore/ticket/chain.h"
#include "netcore/ticket/word.h"

#include <cstdint>

namespace gcoord::netcore {

enum class TicketVerdict : std::uint8_t {
  Held,      // The caller holds the lock.
  Released,  // The caller held the lock until now.
  Busy,      // try_take, join: not granted now. revoke: there was nothing to revoke.
  TimedOut,  // The deadline passed; the ticket is abandoned.
  Aborted,   // The host asked all of this side to leave.
  Closed,    // The host closed this side's handle.
  Revoked,   // Somebody took the ticket away: the caller does not hold, or held, the lock.
  Full,      // No room to wait until the deadline: many tickets were abandoned and not passed yet.
  Broken,    // The memory holds what it cannot. The lock is to be made anew.
};

inline constexpr std::uint32_t kTicketVerdicts = 9;

// What kernels work with: a plain value, passed to them by value. See GpuTicketLock::device().
struct TicketLockDevice {
  TicketWords words;
  ChannelControl* control = nullptr;  // Of this side, in its own memory.
  std::uint32_t epoch = 0;
};

struct TicketOptions {
  std::uint64_t deadline_ns = 0;              // When to leave the line.
  std::uint64_t hold_ns = ~std::uint64_t{0};  // How long a hold may last; the default is for ever.
};

struct TicketHold {
  std::uint64_t ticket = 0;
  std::uint64_t valid_until_ns = 0;

  // Greater than that of every earlier hold of this lock, never 0.
  GCOORD_HD std::uint64_t fencing_token() const { return ticket + 1; }

  // Does the bound of this hold allow one more step? `now_ns` is one reading for the whole group.
  GCOORD_HD bool is_valid(std::uint64_t now_ns) const { return now_ns < valid_until_ns; }
};

// Nobody else polls a waiter's place, so a pause spares only issue slots, and is paid by the next
// hand-over. Of a round of 64 polls, 30 us or more, it is one part in sixty.
inline constexpr std::uint32_t kTicketPauseNsMax = 500;

// One member of a group waits for its ticket; a plain state.
struct TicketWait {
  std::uint64_t ticket = 0;
  std::uint64_t waiting_ns = 0;  // It was not yet granted, or not yet drawn, at this time.
  std::uint64_t looked_ns = 0;   // The clock, read before some poll.
  std::uint64_t served = 0;      // The last notice of revocation that was followed.
  std::uint32_t polls = 0;
};

// Order: SystemOrder, or DeviceOrder if only kernels of one device ever use the lock. All users of
// one lock name the same.
template <typename Order = SystemOrder>
class TicketLock {
 public:
  GCOORD_HD explicit TicketLock(const TicketLockDevice& device) : device_(device) {}

  // Waits in line until this group holds the lock. Held: `*hold` is to be given to release(); also
  // when the deadline passed or the host asked to leave, if the grant came first. TimedOut,
  // Aborted, Closed, Revoked, Full, Broken: it does not hold it, and owes nothing.
  GCOORD_HD TicketVerdict take(const TicketOptions& options, TicketHold* hold) const {
    TicketWait wait;
    TicketVerdict verdict = join(options.deadline_ns, &wait);
    if (verdict != TicketVerdict::Busy) {
      return verdict;
    }
    TicketPosition place = TicketPosition::Queued;
    verdict = verdict_of(bounded_wait(gate_until(options.deadline_ns), [&] {
      place = by_one([&] { return look(wait); });
      return place != TicketPosition::Queued;
    }));
    if (verdict != TicketVerdict::Held) {
      place = by_one([&] { return leave(wait); });
    }
    fill(hold, wait, options.hold_ns);
    return place == TicketPosition::Queued ? verdict : settled(place);
  }

  // The first half of take(), for who waits for other things too (poll_entry.h): draws a ticket.
  // Busy: it stands in line, and settle() is owed. `wait` is then that of the member that looks, or
  // lies in memory that all reach. Any other verdict as of take(): it owes nothing. Waits for no
  // grant, at most until the deadline for room in line.
  GCOORD_HD TicketVerdict join(std::uint64_t deadline_ns, TicketWait* wait) const {
    const TicketVerdict verdict =
        verdict_of(bounded_wait(gate_until(deadline_ns), [&] { return found_room(); }));
    if (verdict != TicketVerdict::Held) {
      return verdict == TicketVerdict::TimedOut ? TicketVerdict::Full : verdict;
    }
    if (warp_rank() == 0) {
      *wait = TicketWait{};
      wait->waiting_ns = device_now_ns();
      wait->ticket = Order::draw(words().next());
    }
    warp_sync();
    return TicketVerdict::Busy;
  }

  // One look at the place of a ticket that stands in line, by one thread; does on the way what
  // waiters do for others. Queued: wait on.
  GCOORD_HD TicketPosition look(TicketWait& wait) const {
    const bool is_round = wait.polls++ % kSpinsPerRound == 0;
    if (is_round) {
      wait.looked_ns = device_now_ns();
      if (wait.polls != 1 && !follow_notice(wait)) {
        return TicketPosition::Broken;
      }
    }
    const TicketPosition place = look_at_ticket<Order>(words(), wait.ticket);
    if (place == TicketPosition::Queued || place == TicketPosition::Early) {
      wait.waiting_ns = wait.looked_ns;
      return TicketPosition::Queued;
    }
    return place;
  }

  // The other half: Held if the grant has come, and otherwise the ticket leaves the line, with
  // TimedOut, Revoked or Broken.
  GCOORD_HD TicketVerdict settle(const TicketWait& wait,
                                 std::uint64_t hold_ns,
                                 TicketHold* hold) const {
    const TicketPosition place = by_one([&] { return leave(wait); });
    fill(hold, wait, hold_ns);
    return place == TicketPosition::Queued ? TicketVerdict::TimedOut : settled(place);
  }

  // Takes the lock if it is free and nobody waits; never waits itself. Busy otherwise.
  GCOORD_HD TicketVerdict try_take(std::uint64_t hold_ns, TicketHold* hold) const {
    TicketWait wait;
    const TicketPosition place = by_one([&] {
      wait.waiting_ns = device_now_ns();
      return draw_if_free<Order>(words(), &wait.ticket);
    });
    fill(hold, wait, hold_ns);
    return place == TicketPosition::Queued ? TicketVerdict::Busy : settled(place);
  }

  // Ends the hold and grants the lock to the next in line. Released; Revoked, if the lock was taken
  // away before; Broken.
  GCOORD_HD TicketVerdict release(const TicketHold& hold) const {
    warp_sync();
    const TicketStep step = by_one([&] { return release_ticket<Order>(words(), hold.ticket); });
    if (step == TicketStep::Broken) {
      return broken();
    }
    return step == TicketStep::Done ? TicketVerdict::Released : TicketVerdict::Revoked;
  }

  // Was the hold not revoked until now, and does its bound allow one more step? Costs a load from
  // the home device. It may be revoked right after: see above.
  GCOORD_HD bool holds(const TicketHold& hold) const {
    const bool is_held = by_one([&] {
      return Order::observe(words().place(hold.ticket)) ==
                 ticket_word(hold.ticket, TicketState::Held) &&
             hold.is_valid(device_now_ns());
    });
    return is_held;
  }

  // Takes a ticket that was drawn out of the line, or its hold away; the next in line is granted
  // the lock. Released: this call did it. Busy: it had gone, or was never drawn. Broken.
  GCOORD_HD TicketVerdict revoke(std::uint64_t ticket) const {
    const TicketStep step = by_one([&] { return revoke_ticket<Order>(words(), ticket); });
    if (step == TicketStep::Broken) {
      return broken();
    }
    return step == TicketStep::Done ? TicketVerdict::Released : TicketVerdict::Busy;
  }

  // Tickets drawn after that of a hold: how many wait for its release, those who left included.
  // Exact at no time that anybody could name, as any such number.
  GCOORD_HD std::uint64_t drawn_after(const TicketHold& hold) const {
    std::uint64_t next = 0;
    if (warp_rank() == 0) {
      next = Order::peek(words().next());
    }
    next = warp_broadcast(next, 0);
    return next > hold.ticket ? next - hold.ticket - 1 : 0;
  }

 private:
  GCOORD_HD const TicketWords& words() const { return device_.words; }

  // What one member did, told to all; what it observed is visible to all.
  template <typename Work>
  GCOORD_HD static auto by_one(Work&& work) {
    std::uint32_t answer = 0;
    if (warp_rank() == 0) {
      answer = static_cast<std::uint32_t>(work());
    }
    answer = warp_broadcast(answer, 0);
    warp_sync();
    return static_cast<decltype(work())>(answer);
  }

  GCOORD_HD WaitGate gate_until(std::uint64_t deadline_ns) const {
    return {device_.control, device_.epoch, deadline_ns, kTicketPauseNsMax};
  }

  GCOORD_HD static TicketVerdict verdict_of(WaitStatus status) {
    switch (status) {
      case WaitStatus::Ready:
        return TicketVerdict::Held;
      case WaitStatus::TimedOut:
        return TicketVerdict::TimedOut;
      case WaitStatus::Aborted:
        return TicketVerdict::Aborted;
      case WaitStatus::EpochChanged:
        return TicketVerdict::Closed;
      case WaitStatus::ChannelReset:
        return TicketVerdict::Broken;
    }
    return TicketVerdict::Broken;
  }

  // Of a ticket that is not in line any more.
  GCOORD_HD TicketVerdict settled(TicketPosition place) const {
    if (place == TicketPosition::Held) {
      return TicketVerdict::Held;
    }
    return place == TicketPosition::Gone ? TicketVerdict::Revoked : broken();
  }

  // Tells all others, who leave at their next look.
  GCOORD_HD TicketVerdict broken() const {
    if (warp_rank() == 0) {
      Order::raise(words().notice().fault, 1);
    }
    return TicketVerdict::Broken;
  }

  GCOORD_HD bool found_room() const {
    return by_one([&] {
      // Garbage is found again by the poll, which says so.
      return look_for_room<Order>(words()) != TicketStep::Already;
    });
  }

  // Does what the host asked of whoever waits. False: somebody met garbage.
  GCOORD_HD bool follow_notice(TicketWait& wait) const {
    const TicketNotice& notice = words().notice();
    const std::uint64_t revoke = Order::peek(notice.revoke);
    // A later ticket than the own one stands behind it and is not in its way.
    if (revoke != 0 && revoke != wait.served && revoke - 1 <= wait.ticket) {
      wait.served = revoke;
      if (revoke_ticket<Order>(words(), revoke - 1) == TicketStep::Broken) {
        return false;
      }
    }
    return Order::peek(notice.fault) == 0;
  }

  // Queued: left the line. Anything else came first.
  GCOORD_HD TicketPosition leave(const TicketWait& wait) const {
    TicketPosition found = TicketPosition::Broken;
    abandon_ticket<Order>(words(), wait.ticket, &found);
    // Early: more groups than the layout says. The ticket cannot be marked, and whoever made the
    // lock so must revoke it.
    return found == TicketPosition::Early ? TicketPosition::Broken : found;
  }

  GCOORD_HD static void fill(TicketHold* hold, const TicketWait& wait, std::uint64_t hold_ns) {
    const std::uint64_t until = wait.waiting_ns + hold_ns;
    hold->ticket = warp_broadcast(wait.ticket, 0);
    hold->valid_until_ns = warp_broadcast(until < wait.waiting_ns ? ~std::uint64_t{0} : until, 0);
  }

  TicketLockDevice device_;
};

}  // namespace gcoord::netcore
