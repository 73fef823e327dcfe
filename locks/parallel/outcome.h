// Outcome of a planned window of commands (plan.h): replies, and the requests that remain.
//
// A request that a later command of the window acknowledges gets no record; a wait that ends in the
// window is recorded as it ended. Which records stay is known before any is written, so rows are
// counted out by bits. Events are not written: they follow from the entries. Contract: as window.h;
// nothing here touches the lists of sessions. Host and device.
#pragma once

#include "common/assert.h"
#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/parallel/plan.h"
#include "locks/parallel/window.h"
#include "locks/parallel/writer.h"
#include "locks/state/chain.h"
#include "locks/state/demand.h"

#include <cstdint>

namespace gcoord::locks {

// What a window leaves. Sets of places.
struct WindowEffects {
  std::uint32_t kept = 0;         // Commands whose request has a record in the end.
  std::uint32_t reused = 0;       // Of those: it takes the row of the session's only one before.
  std::uint32_t ended = 0;        // Acquires of the window whose wait ends in it.
  std::uint32_t kept_passed = 0;  // Releases to a waiter of before whose record stays.
  std::uint32_t lets_go = 0;      // Releases by who held the lock before the window.
  std::uint32_t holds = 0;        // Grants that nothing in the window takes back.
};

// A plan of at least one command, and what it leaves.
struct PlannedWindow {
  const WindowWork& work;
  WindowPlan plan;
  WindowEffects effects;
  std::uint32_t added = 0;  // First places of locks that are new in the tables.
  LockDemand demand;        // Rows that it takes.
};

// A request of the window's session, and the place where it was answered.
struct AnsweredRequest {
  RequestSequence sequence;
  std::uint32_t place = 0;
};

// Holder and waiters of the lock after the window; `first` is the lock's first place.
GCOORD_HD inline std::uint32_t level_after(const LockWindow& window,
                                           const WindowPlan& plan,
                                           std::uint32_t first) {
  const std::uint32_t peers = window.lock_peers[first];
  return window.locks[first].level + count_bits(plan.enters & peers) -
         count_bits(plan.releases & peers);
}

// How far the session's acknowledgements have come after the commands of `places`.
GCOORD_HD inline RequestSequence acknowledged(const PlannedWindow& planned,
                                              std::uint32_t first,
                                              std::uint32_t places) {
  const LockWindow& window = planned.work.window;
  const RequestSequence before = window.sessions[first].acked_below;
  const std::uint32_t own = planned.plan.remembered & window.session_peers[first] & places;
  return own == 0 ? before : max_id(before, window.acked_below[highest_bit(own)]);
}

// Whether a request that was answered at a place stays: an acknowledgement that comes later and
// passes it lets it go (acknowledge_below()).
GCOORD_HD inline bool stays(const PlannedWindow& planned,
                            std::uint32_t first,
                            const AnsweredRequest& request) {
  const RequestSequence last = acknowledged(planned, first, ~0u);
  const RequestSequence then = acknowledged(planned, first, bits_through(request.place));
  return last <= then || last <= request.sequence;
}

// The release that ends the wait of an acquire of the window, or kNoPlace.
GCOORD_HD inline std::uint32_t end_of_wait(const LockWindow& window,
                                           const WindowPlan& plan,
                                           std::uint32_t acquire) {
  const std::uint32_t peers = window.lock_peers[acquire];
  const std::uint32_t number =
      window.locks[lowest_bit(peers)].level + count_bits(plan.enters & peers & bits_below(acquire));
  const std::uint32_t releases = plan.releases & peers;
  return count_bits(releases) < number ? kNoPlace : nth_bit(releases, number - 1);
}

// Finds where the sessions that locks pass on to have commands of their own.
GCOORD_HD inline void find_owners(const WindowWork& work, const WindowPlan& plan) {
  LockWindow& window = work.window;
  const std::uint32_t firsts =
      places_where(plan.count, [&](std::uint32_t i) { return first_of_session(window, i) == i; });
  each_place(plan.count, [&](std::uint32_t i) {
    WindowPass& pass = window.passes[i];
    if ((plan.passes() >> i & 1) == 0) {
      return;
    }
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t left = firsts; left != 0; left &= left - 1) {
      const std::uint32_t first = lowest_bit(left);
      pass.owner = window.session[first] == pass.session ? first : pass.owner;
    }
  });
}

// Whether the request of the command at a place has a record in the end.
GCOORD_HD inline bool keeps_request(const PlannedWindow& planned, std::uint32_t i) {
  const LockWindow& window = planned.work.window;
  const WindowPlan& plan = planned.plan;
  if ((plan.remembered >> i & 1) == 0) {
    return false;
  }
  const std::uint32_t first = first_of_session(window, i);
  const RequestSequence sequence = window.sequence[i];
  if ((plan.waits() >> i & 1) == 0) {
    return acknowledged(planned, first, ~0u) <= sequence;
  }
  return (planned.effects.ended >> i & 1) == 0 ||
         stays(planned, first, {sequence, window.granted_at[i]});
}

// Whether the request takes the row of the only one that the session had, and the list stays as it
// is: what becomes of clients that wait for each answer.
GCOORD_HD inline bool reuses_row(const PlannedWindow& planned, std::uint32_t i) {
  const LockWindow& window = planned.work.window;
  const std::uint32_t kept = planned.effects.kept;
  const std::uint32_t first = first_of_session(window, i);
  const WindowSession& session = window.sessions[first];
  const RequestSequence last = acknowledged(planned, first, ~0u);
  return (kept >> i & 1) != 0 && session.only_done.value != 0 && last > session.acked_below &&
         last > session.sequence_last && (kept & window.session_peers[first]) == 1u << i;
}

// Fills planned.effects.
GCOORD_HD inline void find_effects(PlannedWindow& planned) {
  LockWindow& window = planned.work.window;
  const WindowPlan& plan = planned.plan;
  WindowEffects& effects = planned.effects;
  if (plan.waits() != 0) {
    effects.ended = places_where(plan.count, [&](std::uint32_t i) {
      window.granted_at[i] = (plan.waits() >> i & 1) != 0 ? end_of_wait(window, plan, i) : kNoPlace;
      return window.granted_at[i] != kNoPlace;
    });
  }
  effects.kept =
      places_where(plan.count, [&](std::uint32_t i) { return keeps_request(planned, i); });
  if (plan.passes() == 0) {
    effects.reused =
        places_where(plan.count, [&](std::uint32_t i) { return reuses_row(planned, i); });
  } else {
    effects.kept_passed = places_where(plan.count, [&](std::uint32_t i) {
      const WindowPass& pass = window.passes[i];
      if ((plan.passes() >> i & 1) == 0 || pass.request.value == 0) {
        return false;
      }
      const RequestSequence sequence = planned.work.tables.requests[pass.request].sequence;
      return pass.owner == kNoPlace || stays(planned, pass.owner, {sequence, i});
    });
  }
  effects.lets_go = places_where(plan.count, [&](std::uint32_t i) {
    const std::uint32_t released = plan.releases & window.lock_peers[i];
    return released != 0 && lowest_bit(released) == i &&
           window.locks[first_of_lock(window, i)].level != 0;
  });
  effects.holds = places_where(plan.count, [&](std::uint32_t i) {
    return (plan.grants >> i & 1) != 0 &&
           (plan.releases & window.lock_peers[i] & ~bits_through(i)) == 0;
  });
}

// What the command at a place is answered.
GCOORD_HD inline LockReply planned_reply(const WindowWork& work,
                                         const WindowPlan& plan,
                                         std::uint32_t i) {
  const LockWindow& window = work.window;
  LockReply reply;
  if (window.kind[i] == LockCommandKind::Release) {
    reply.code = LockCode::Released;
    reply.token = window.token[i];
  } else if ((plan.creates() >> i & 1) != 0) {
    reply.code = LockCode::Granted;
    reply.token = token_at(work, plan, i);
  } else if ((plan.enters >> i & 1) != 0) {
    reply.code = LockCode::Waiting;
  } else {
    const WindowHolder holder = holder_before(work, plan, i);
    reply.token = holder.token;
    reply.code = LockCode::AlreadyHeld;
    if (holder.session != window.session[i]) {
      reply.code = LockCode::Busy;
      reply.holder = work.tables.sessions[holder.session].session;
    }
  }
  return reply;
}

// The shard's row after the command at a place, as far as the window changes it.
GCOORD_HD inline LockShardRow shard_after(const WindowWork& work,
                                          const WindowPlan& plan,
                                          std::uint32_t i) {
  const std::uint32_t through = bits_through(i);
  LockShardRow shard = work.shard;
  shard.token_last += count_bits(plan.grants & through);
  shard.lock_count += count_bits(plan.creates() & through) - count_bits(plan.removes() & through);
  shard.waiter_count += count_bits(plan.waits() & through) - count_bits(plan.passes() & through);
  return shard;
}

// The row of a request that has a record in the end.
GCOORD_HD inline RequestRow row_of_kept(const PlannedWindow& planned, std::uint32_t i) {
  const WindowWork& work = planned.work;
  const WindowEffects& effects = planned.effects;
  if ((effects.reused >> i & 1) != 0) {
    return work.window.sessions[first_of_session(work.window, i)].only_done;
  }
  return row_ahead(work.tables.requests,
                   count_bits(effects.kept & ~effects.reused & bits_below(i)));
}

// Puts a wait that goes on into its lock's queue, as far as the waiter's own record says it.
GCOORD_HD inline void place_waiter(const PlannedWindow& planned,
                                   std::uint32_t i,
                                   RequestRecord& record) {
  const LockWindow& window = planned.work.window;
  const WindowPlan& plan = planned.plan;
  const std::uint32_t peers = window.lock_peers[i];
  const WindowLock& lock = window.locks[lowest_bit(peers)];
  const std::uint32_t waiting = plan.waits() & ~planned.effects.ended & peers;
  const std::uint32_t before = waiting & bits_below(i);
  const std::uint32_t after = waiting & ~bits_through(i);
  record.enqueued_at = planned.work.index_of(i);
  record.lock = lock.row;
  if (before != 0) {
    record.queue_previous = row_of_kept(planned, highest_bit(before));
  } else if (count_bits(plan.releases & peers) + 1 < lock.level) {
    record.queue_previous = lock.queue_last;
  }
  if (after != 0) {
    record.queue_next = row_of_kept(planned, lowest_bit(after));
  }
}

// The record of a command's request as the window leaves it, but for the session's list.
GCOORD_HD inline void keep_request(const PlannedWindow& planned,
                                   std::uint32_t i,
                                   const LockReply& reply) {
  const WindowWork& work = planned.work;
  const WindowEffects& effects = planned.effects;
  LockWindow& window = work.window;
  RequestRecord record;
  record.sequence = window.sequence[i];
  record.session_row = window.session[i];
  record.argument_hash = window.argument_hash[i];
  record.code = reply.code;
  record.token = reply.token;
  record.holder = reply.holder;
  if ((effects.ended >> i & 1) != 0) {
    record.code = LockCode::Granted;
    record.token = token_at(work, planned.plan, window.granted_at[i]);
  } else if (reply.code == LockCode::Waiting) {
    place_waiter(planned, i, record);
  }
  if ((effects.reused >> i & 1) != 0) {
    // The session's lists stay as they are, so this is all that becomes of its record.
    work.tables.sessions[record.session_row].acked_below =
        acknowledged(planned, first_of_session(window, i), ~0u);
  }
  const RequestRow row = row_of_kept(planned, i);
  work.tables.requests[row] = record;
  window.request_rows[i] = row;
}

// Answers the command at a place; returns its word in the shard's chain.
GCOORD_HD inline std::uint64_t answer_command(const PlannedWindow& planned, std::uint32_t i) {
  const WindowWork& work = planned.work;
  const LockReply reply = planned_reply(work, planned.plan, i);
  work.window.code[i] = reply.code;
  if ((planned.effects.kept >> i & 1) != 0) {
    keep_request(planned, i, reply);
  }
  return chain_word(work.window.digest[i], reply, shard_after(work, planned.plan, i));
}

// The waiter of before the window that the release at a place makes the holder waits no more.
GCOORD_HD inline void end_passed(const WindowWork& work, const WindowPlan& plan, std::uint32_t i) {
  const WindowPass& pass = work.window.passes[i];
  if (pass.request.value == 0) {
    return;
  }
  RequestRecord& waiter = work.tables.requests[pass.request];
  waiter.code = LockCode::Granted;
  waiter.token = token_at(work, plan, i);
  waiter.enqueued_at = LogIndex{};
  waiter.lock = LockRow{};
  waiter.queue_next = RequestRow{};
  waiter.queue_previous = RequestRow{};
}

// window.chain[i] becomes the shard's hash after the command at i; it was that command's word.
GCOORD_HD inline void add_up_chain(const WindowWork& work, std::uint32_t count) {
  std::uint64_t* chain = work.window.chain;
  if (warp_lanes() != kWindowCommands) {
    std::uint64_t hash = work.shard.state_hash;
    for (std::uint32_t i = 0; i < count; ++i) {
      hash = hash * kChainStep + chain[i];
      chain[i] = hash;
    }
    return;
  }
  // Sums over 1, 2, 4 and more commands that end at this one; a prefix sum of a polynomial.
  const std::uint32_t i = warp_rank();
  std::uint64_t sum = i < count ? chain[i] : 0;
  std::uint64_t power = kChainStep;
  GCOORD_UNROLL
  for (std::uint32_t distance = 1; distance < kWindowCommands; distance *= 2) {
    const bool reaches = i >= distance;
    const std::uint64_t earlier = warp_broadcast(sum, reaches ? i - distance : i);
    sum += reaches ? earlier * power : 0;
    power *= power;
  }
  if (i < count) {
    chain[i] = work.shard.state_hash * chain_power(i + 1) + sum;
  }
  warp_sync();
}

}  // namespace gcoord::locks
