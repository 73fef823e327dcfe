// Decisions of a window of commands, made at once: what each of them will be answered, without
// changing anything.
//
// A lock is a counter and a line: an acquire that waits or finds it free goes to the end of the
// line, a release takes its head away, and who is first holds the lock. So the level of a lock
// before a command (its holder and waiters) is the level before the window plus the acquires less
// the releases between; the holder is the member of the line with as many before it as releases
// happened; and a token is the number of grants so far. Each is a count of bits.
//
// That counts commands as what they usually are: a release as one by the holder under its token, an
// acquire that does not wait as one that finds the lock as the command before it left it. Whether
// they are is looked at afterwards, for each command on the word of those before it; the window is
// then cut before the first one that is not. Cut too is what belongs to apply() alone: other kinds
// of commands, what asks for more than a plain hold, locks that are marked, sessions that are
// unknown or end, retries, sequences or acknowledgements that go back, windows of requests that may
// be full, hashes that meet. What is left is right by induction, and what was cut goes through
// apply(), so a plan decides nothing that apply() would not; tests compare the two
// (window_test.cc).
//
// The shape is that of speculation in parallel prefix sums; compare flat combining (Hendler et al.,
// SPAA 2010), where one thread serves a queue's waiting operations. Pure but for the window; loops
// bounded; host and device.
#pragma once

#include "common/assert.h"
#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/parallel/window.h"
#include "locks/state/requests.h"

#include <cstdint>

namespace gcoord::locks {

// What the commands of a window do. Sets of places; the rest follows from them: an acquire that is
// granted entered a free lock, a release that is granted passed the lock on.
struct WindowPlan {
  std::uint32_t count = 0;       // Commands that are planned, from the first on.
  bool cut = false;              // The next one is for apply().
  std::uint32_t remembered = 0;  // Commands that leave a request.
  std::uint32_t enters = 0;      // Acquires that hold the lock or wait for it afterwards.
  std::uint32_t releases = 0;
  std::uint32_t grants = 0;  // Commands that make somebody the holder.

  GCOORD_HD std::uint32_t waits() const { return enters & ~grants; }

  GCOORD_HD std::uint32_t creates() const { return enters & grants; }

  GCOORD_HD std::uint32_t passes() const { return releases & grants; }

  GCOORD_HD std::uint32_t removes() const { return releases & ~grants; }
};

// The first place of the session, or of the lock, of a command.
GCOORD_HD inline std::uint32_t first_of_session(const LockWindow& window, std::uint32_t i) {
  return lowest_bit(window.session_peers[i]);
}

GCOORD_HD inline std::uint32_t first_of_lock(const LockWindow& window, std::uint32_t i) {
  return lowest_bit(window.lock_peers[i]);
}

// Holder and waiters of the lock before the command at i. Negative only where the plan is wrong.
GCOORD_HD inline std::int32_t level_before(const LockWindow& window,
                                           const WindowPlan& plan,
                                           std::uint32_t i) {
  const std::uint32_t before = window.lock_peers[i] & bits_below(i);
  return static_cast<std::int32_t>(window.locks[first_of_lock(window, i)].level +
                                   count_bits(plan.enters & before) -
                                   count_bits(plan.releases & before));
}

// The token of the grant at a place.
GCOORD_HD inline FencingToken token_at(const WindowWork& work,
                                       const WindowPlan& plan,
                                       std::uint32_t place) {
  return FencingToken{work.shard.token_last + count_bits(plan.grants & bits_through(place))};
}

struct WindowHolder {
  SessionRow session;
  FencingToken token;
};

// Who holds the lock before the command at i; its level is at least 1.
GCOORD_HD inline WindowHolder holder_before(const WindowWork& work,
                                            const WindowPlan& plan,
                                            std::uint32_t i) {
  const LockWindow& window = work.window;
  const WindowLock& lock = window.locks[first_of_lock(window, i)];
  const std::uint32_t peers = window.lock_peers[i];
  const std::uint32_t released = plan.releases & peers & bits_below(i);
  const std::uint32_t head = count_bits(released);  // Its number in the line.
  if (head == 0 && lock.level != 0) {
    return {lock.holder, lock.token};
  }
  std::uint32_t granted_at = head == 0 ? 0 : highest_bit(released);
  if (head < lock.level) {
    return {window.passes[granted_at].session, token_at(work, plan, granted_at)};
  }
  // It was granted when it came, or by the release before: whichever was later. Mostly it is the
  // last one in the line, which is found at once.
  const std::uint32_t entered = plan.enters & peers & bits_below(i);
  const bool last = head + 1 == lock.level + count_bits(entered);
  const std::uint32_t acquire = last ? highest_bit(entered) : nth_bit(entered, head - lock.level);
  granted_at = acquire > granted_at ? acquire : granted_at;
  return {window.session[acquire], token_at(work, plan, granted_at)};
}

GCOORD_HD inline WindowSession look_at_session(const LockTables& tables, SessionRow row) {
  const SessionRecord session = tables.sessions[row];
  WindowSession seen{.acked_below = session.acked_below,
                     .least = max_id(session.acked_below, session.forgotten_below),
                     .sequence_last = RequestSequence{},
                     .request_count = session.request_count,
                     .only_done = RequestRow{},
                     .live = session.phase == SessionPhase::Live};
  RequestRow request_row = session.request_newest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && request_row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[request_row];
    seen.sequence_last = max_id(seen.sequence_last, request.sequence);
    if (session.request_count == 1 && request.code != LockCode::Waiting) {
      seen.only_done = request_row;
    }
    request_row = request.previous;
  }
  return seen;
}

// The lock that the command at i names. Places of one hash are peers, those of another name than
// the first one's are cut.
GCOORD_HD inline WindowLock look_at_lock(const WindowWork& work, std::uint32_t i) {
  const LockWindow& window = work.window;
  if (window.session[i].value == 0) {
    return {};
  }
  const SameLock same{&work.tables, work.shard_id, window.name[i]};
  const LockRow row{work.tables.lock_index.find(window.lock_hash[i], same)};
  if (row.value == 0) {
    return {};
  }
  const LockRecord lock = work.tables.locks[row];
  return {.row = row,
          .holder = lock.holder,
          .token = lock.token,
          .level = 1 + lock.waiter_count,
          .queue_first = lock.queue_first,
          .queue_last = lock.queue_last,
          .marked = is_marked(lock)};
}

// Which commands share a session or a lock, and how those stand.
GCOORD_HD inline void look_at_window(const WindowWork& work, std::uint32_t count) {
  LockWindow& window = work.window;
  find_peers(
      count, [&](std::uint32_t i) { return window.session[i].value; }, window.session_peers);
  find_peers(
      count, [&](std::uint32_t i) { return window.lock_hash[i]; }, window.lock_peers);
  warp_sync();
  each_place(count, [&](std::uint32_t i) {
    if (first_of_session(window, i) == i && window.session[i].value != 0) {
      window.sessions[i] = look_at_session(work.tables, window.session[i]);
    }
    if (first_of_lock(window, i) == i) {
      window.locks[i] = look_at_lock(work, i);
    }
  });
}

GCOORD_HD inline bool leaves_request(const LockWindow& window, std::uint32_t i) {
  return window.kind[i] == LockCommandKind::Acquire ||
         (window.kind[i] == LockCommandKind::Release && (window.flags[i] & kReleaseByToken) == 0);
}

// Whether the command goes to the end of the line, if it is what it usually is.
GCOORD_HD inline bool enters_line(const LockWindow& window, std::uint32_t i) {
  const bool acquires = window.kind[i] == LockCommandKind::Acquire;
  if (!acquires || (window.flags[i] & kAcquireWait) != 0) {
    return acquires;
  }
  const std::uint32_t before = window.lock_peers[i] & bits_below(i);
  return before == 0 ? window.locks[i].level == 0
                     : window.kind[highest_bit(before)] == LockCommandKind::Release;
}

// Whether its request is a new one that finds room whatever the commands before it left.
GCOORD_HD inline bool sequence_is_fresh(const LockWindow& window,
                                        const WindowPlan& plan,
                                        std::uint32_t i) {
  const RequestSequence sequence = window.sequence[i];
  const RequestSequence acked_below = window.acked_below[i];
  const WindowSession& session = window.sessions[first_of_session(window, i)];
  const std::uint32_t before = window.session_peers[i] & plan.remembered & bits_below(i);
  if (acked_below > sequence || sequence - acked_below > kSequenceAheadMax ||
      session.request_count + count_bits(before) >= kSessionRequestsMax) {
    return false;
  }
  if (before == 0) {
    return sequence >= session.least && sequence > session.sequence_last;
  }
  const std::uint32_t previous = highest_bit(before);
  return sequence > window.sequence[previous] && acked_below >= window.acked_below[previous];
}

// Whether a window may hold the command at all.
GCOORD_HD inline bool suits_window(const LockWindow& window,
                                   const WindowPlan& plan,
                                   std::uint32_t i) {
  if (window.session[i].value == 0 || !window.sessions[first_of_session(window, i)].live ||
      window.locks[first_of_lock(window, i)].marked ||
      window.name[first_of_lock(window, i)] != window.name[i]) {
    return false;
  }
  return (plan.remembered >> i & 1) == 0 || sequence_is_fresh(window, plan, i);
}

// Whether the command is what the plan counts it as, if those before it are.
GCOORD_HD inline bool is_as_planned(const WindowWork& work,
                                    const WindowPlan& plan,
                                    std::uint32_t i) {
  const LockWindow& window = work.window;
  const bool enters = (plan.enters >> i & 1) != 0;
  const bool tries =
      window.kind[i] == LockCommandKind::Acquire && (window.flags[i] & kAcquireWait) == 0;
  const std::int32_t level = level_before(window, plan, i);
  if (level <= 0) {
    return enters && level == 0;
  }
  if (tries) {
    return !enters;
  }
  const WindowHolder holder = holder_before(work, plan, i);
  const bool holds = holder.session == window.session[i];
  return enters ? !holds : holds && holder.token == window.token[i];
}

// Finds the waiters of before the window that its releases pass locks on to, one lock a member.
GCOORD_HD inline void follow_queue(const WindowWork& work,
                                   const WindowPlan& plan,
                                   std::uint32_t first) {
  LockWindow& window = work.window;
  RequestRow row = window.locks[first].queue_first;
  std::uint32_t releases = plan.releases & window.lock_peers[first];
  GCOORD_UNROLL_BY(1)
  for (; releases != 0 && row.value != 0; releases &= releases - 1) {
    const RequestRecord& waiter = work.tables.requests[row];
    WindowPass pass;
    pass.request = row;
    pass.queue_next = waiter.queue_next;
    pass.session = waiter.session_row;
    window.passes[lowest_bit(releases)] = pass;
    row = waiter.queue_next;
  }
}

// Whom the releases of the window pass their locks on to.
GCOORD_HD inline void find_passes(const WindowWork& work,
                                  const WindowPlan& plan,
                                  std::uint32_t count) {
  LockWindow& window = work.window;
  each_place(count, [&](std::uint32_t i) {
    if (first_of_lock(window, i) == i) {
      follow_queue(work, plan, i);
    }
  });
  each_place(count, [&](std::uint32_t i) {
    const std::uint32_t peers = window.lock_peers[i];
    const std::uint32_t next = count_bits(plan.releases & peers & bits_below(i)) + 1;
    const std::uint32_t level = window.locks[lowest_bit(peers)].level;
    if ((plan.passes() >> i & 1) != 0 && next >= level) {
      WindowPass pass;
      pass.acquire = nth_bit(plan.enters & peers, next - level);
      pass.session = window.session[pass.acquire];
      window.passes[i] = pass;
    }
  });
}

// Plans the first `count` commands of the window, as many of them as can be planned. `more`: others
// come behind them that are decided too.
GCOORD_HD inline WindowPlan plan_window(const WindowWork& work, std::uint32_t count, bool more) {
  const LockWindow& window = work.window;
  look_at_window(work, count);
  WindowPlan plan;
  plan.remembered = places_where(count, [&](std::uint32_t i) { return leaves_request(window, i); });
  plan.enters = places_where(count, [&](std::uint32_t i) { return enters_line(window, i); });
  plan.releases = places_where(
      count, [&](std::uint32_t i) { return window.kind[i] == LockCommandKind::Release; });
  plan.grants = places_where(count, [&](std::uint32_t i) {
    const std::int32_t level = level_before(window, plan, i);
    return (plan.enters >> i & 1) != 0 ? level == 0 : (plan.releases >> i & 1) != 0 && level >= 2;
  });
  if (plan.passes() != 0) {
    find_passes(work, plan, count);
  }
  const std::uint32_t sound = places_where(count, [&](std::uint32_t i) {
    return suits_window(window, plan, i) && is_as_planned(work, plan, i);
  });
  plan.count = leading_run(sound, count);
  plan.cut = plan.count < count;
  if (more && plan.count == count && count > 1 && (plan.creates() >> (count - 1) & 1) != 0) {
    // Where one lock is taken and released in turn, windows that end with a release leave it as
    // they found it: free, without a record.
    --plan.count;
  }
  const std::uint32_t kept = bits_first(plan.count);
  plan.remembered &= kept;
  plan.enters &= kept;
  plan.releases &= kept;
  plan.grants &= kept;
  return plan;
}

}  // namespace gcoord::locks
