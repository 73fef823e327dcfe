// Effects of a planned window (plan.h): the tables as they are after its last command.
//
// What commands of one window undo is never written: a lock that is taken and released in it keeps
// its record. What is left is done by loops over places. Lists are the sessions' own (their
// requests, the locks they hold), so the first place of a session does all of its list work, in log
// order: first what goes, for a lock may pass from one session to another, then what is new. Locks
// that appear or disappear are entered and removed by the first member with the functions that
// apply() uses. Contract: as window.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/entry_layout.h"
#include "locks/parallel/outcome.h"
#include "locks/parallel/plan.h"
#include "locks/parallel/window.h"
#include "locks/parallel/writer.h"
#include "locks/state/demand.h"
#include "locks/state/queue.h"
#include "locks/state/requests.h"

#include <cstdint>

namespace gcoord::locks {

// The session's part of a window. Sets of places.
struct SessionShare {
  SessionRow row;
  std::uint32_t first = kNoPlace;  // Its first place, if it has commands.
  std::uint32_t own = 0;           // Its commands.
  std::uint32_t passed = 0;        // Releases that pass a lock on to it.
};

// Brings the lock's record up to date, but for its holder; `first` is its first place.
GCOORD_HD inline void settle_lock(const PlannedWindow& planned, std::uint32_t first) {
  const WindowWork& work = planned.work;
  const WindowPlan& plan = planned.plan;
  const LockWindow& window = work.window;
  const WindowLock& lock = window.locks[first];
  const std::uint32_t peers = window.lock_peers[first];
  if (((plan.enters | plan.releases) & peers) == 0 || lock.row.value == 0) {
    return;
  }
  LockRecord& record = work.tables.locks[lock.row];
  const std::uint32_t granted = plan.grants & peers;
  if (granted != 0) {
    record.token = token_at(work, plan, highest_bit(granted));
    record.granted_at = work.index_of(highest_bit(granted));
  }
  const std::uint32_t level = level_after(window, plan, first);
  record.waiter_count = level == 0 ? 0 : level - 1;
  const std::uint32_t waiters = lock.level == 0 ? 0 : lock.level - 1;
  const std::uint32_t released = count_bits(plan.releases & peers);
  const std::uint32_t waiting = plan.waits() & ~planned.effects.ended & peers;
  RequestRow queue_first = waiting != 0 ? window.request_rows[lowest_bit(waiting)] : RequestRow{};
  if (released < waiters) {
    if (waiting != 0) {
      work.tables.requests[lock.queue_last].queue_next = queue_first;
    }
    queue_first = lock.queue_first;
    if (released != 0) {
      queue_first = window.passes[highest_bit(plan.releases & peers)].queue_next;
      work.tables.requests[queue_first].queue_previous = RequestRow{};
    }
  }
  record.queue_first = queue_first;
  if (waiting != 0) {
    record.queue_last = window.request_rows[highest_bit(waiting)];
  } else if (released >= waiters) {
    record.queue_last = RequestRow{};
  }
}

// First half of a session's lists: what goes.
GCOORD_HD inline void unlink_share(const PlannedWindow& planned, const SessionShare& share) {
  const WindowWork& work = planned.work;
  const WindowEffects& effects = planned.effects;
  const LockWindow& window = work.window;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t left = effects.lets_go & share.own; left != 0; left &= left - 1) {
    unlink_holder(work.tables, window.locks[first_of_lock(window, lowest_bit(left))].row);
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t left = share.passed; left != 0; left &= left - 1) {
    const std::uint32_t i = lowest_bit(left);
    const RequestRow row = window.passes[i].request;
    if (row.value != 0) {
      unlink_request(work.tables, row);
      if ((effects.kept_passed >> i & 1) == 0) {
        give_to_ring(work.tables.requests, row);
      }
    }
  }
  if ((share.own & planned.plan.remembered) != 0 && (share.own & effects.reused) == 0) {
    const auto give_back = [&](RequestRow row) { give_to_ring(work.tables.requests, row); };
    acknowledge_below(work.tables, share.row, acknowledged(planned, share.first, ~0u), give_back);
  }
}

// Second half: what is new, in log order.
GCOORD_HD inline void link_share(const PlannedWindow& planned, const SessionShare& share) {
  const WindowWork& work = planned.work;
  const WindowEffects& effects = planned.effects;
  const LockWindow& window = work.window;
  const std::uint32_t answered = effects.kept & ~effects.ended & ~effects.reused & share.own;
  const std::uint32_t holds = effects.holds & ((planned.plan.creates() & share.own) | share.passed);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t left = answered | holds | share.passed; left != 0; left &= left - 1) {
    const std::uint32_t i = lowest_bit(left);
    if ((answered >> i & 1) != 0) {
      link_request(work.tables, window.request_rows[i]);
    }
    if ((share.passed >> i & 1) != 0) {
      const WindowPass& pass = window.passes[i];
      if ((effects.kept_passed >> i & 1) != 0) {
        link_request(work.tables, pass.request);
      } else if (pass.request.value == 0 && (effects.kept >> pass.acquire & 1) != 0) {
        link_request(work.tables, window.request_rows[pass.acquire]);
      }
    }
    if ((holds >> i & 1) != 0) {
      link_holder(work.tables, window.locks[first_of_lock(window, i)].row, share.row);
    }
  }
}

// Calls body(share) for every session of the window, by the member of its first place: that of its
// first command or, when it has none, that of the first release that passes a lock on to it.
template <typename Body>
GCOORD_HD void each_share(const WindowWork& work, const WindowPlan& plan, const Body& body) {
  const LockWindow& window = work.window;
  const auto passed_where = [&](const auto& wanted) {
    std::uint32_t places = 0;
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t left = plan.passes(); left != 0; left &= left - 1) {
      const std::uint32_t i = lowest_bit(left);
      places |= (wanted(window.passes[i]) ? 1u : 0u) << i;
    }
    return places;
  };
  each_place(plan.count, [&](std::uint32_t i) {
    if (first_of_session(window, i) == i) {
      body(SessionShare{.row = window.session[i],
                        .first = i,
                        .own = window.session_peers[i] & bits_first(plan.count),
                        .passed = passed_where([&](const auto& p) { return p.owner == i; })});
    }
    if ((plan.passes() >> i & 1) == 0 || window.passes[i].owner != kNoPlace) {
      return;
    }
    const SessionRow row = window.passes[i].session;
    const std::uint32_t passed = passed_where([&](const auto& p) { return p.session == row; });
    if (lowest_bit(passed) == i) {
      SessionShare share;
      share.row = row;
      share.passed = passed;
      body(share);
    }
  });
}

// The first places of locks that the window leaves held and that were free before.
GCOORD_HD inline std::uint32_t added_locks(const WindowWork& work, const WindowPlan& plan) {
  const LockWindow& window = work.window;
  return places_where(plan.count, [&](std::uint32_t i) {
    return first_of_lock(window, i) == i && window.locks[i].level == 0 &&
           level_after(window, plan, i) != 0;
  });
}

// The acquire after which the lock of a first place is held and stays so.
GCOORD_HD inline std::uint32_t creator_of(const LockWindow& window,
                                          const WindowPlan& plan,
                                          std::uint32_t first) {
  return highest_bit(plan.creates() & window.lock_peers[first]);
}

// Rows that the window will take. All members get the same.
GCOORD_HD inline LockDemand demand_of_window(const PlannedWindow& planned) {
  const LockWindow& window = planned.work.window;
  LockDemand demand;
  demand.locks = count_bits(planned.added);
  demand.requests = count_bits(planned.effects.kept & ~planned.effects.reused);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t left = planned.added; left != 0; left &= left - 1) {
    const std::uint32_t last = creator_of(window, planned.plan, lowest_bit(left));
    demand.name_blocks += name_block_count(window.name_bytes[last]);
  }
  return demand;
}

// Enters the added locks. name: as settle_window().
template <typename Name>
GCOORD_HD void create_locks(const PlannedWindow& planned, const Name& name) {
  const WindowWork& work = planned.work;
  LockWindow& window = work.window;
  first_member([&] {
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t left = planned.added; left != 0; left &= left - 1) {
      const std::uint32_t first = lowest_bit(left);
      const std::uint32_t last = creator_of(window, planned.plan, first);
      EntryName bytes;
      name(last, bytes);
      window.locks[first].row =
          create_lock(work.tables,
                      work.shard_id,
                      LockName{window.name[last], bytes.bytes, window.name_bytes[last]},
                      window.lock_hash[first]);
    }
  });
}

// Removes locks that were held before and that the window leaves free.
GCOORD_HD inline void remove_locks(const WindowWork& work, const WindowPlan& plan) {
  const LockWindow& window = work.window;
  std::uint32_t gone = places_where(plan.count, [&](std::uint32_t i) {
    return first_of_lock(window, i) == i && window.locks[i].level != 0 &&
           level_after(window, plan, i) == 0;
  });
  if (gone == 0) {
    return;
  }
  first_member([&] {
    GCOORD_UNROLL_BY(1)
    for (; gone != 0; gone &= gone - 1) {
      remove_lock(work.tables, window.locks[lowest_bit(gone)].row);
    }
  });
}

// What the window adds to the shard and to the writer's sums.
GCOORD_HD inline void settle_shard(const WindowWork& work, const WindowPlan& plan) {
  const LockShardRow after = shard_after(work, plan, plan.count - 1);
  first_member([&] {
    LockShardRow& row = work.tables.shard(work.shard_id);
    GCOORD_ASSERT(row.lock_count == after.lock_count);
    row.token_last = after.token_last;
    row.waiter_count = after.waiter_count;
    row.state_hash = work.window.chain[plan.count - 1];
    *work.tables.waiter_count += std::uint64_t{after.waiter_count} - work.shard.waiter_count;
  });
}

// Locks, and the lists of sessions, as far as there is something to change: where clients of one
// lock wait for each answer there mostly is not.
GCOORD_HD inline void settle_lists(const PlannedWindow& planned) {
  const WindowWork& work = planned.work;
  const WindowPlan& plan = planned.plan;
  const WindowEffects& effects = planned.effects;
  const bool waits = (plan.waits() | plan.passes()) != 0;
  const bool requests = waits || effects.kept != effects.reused;
  if (waits || (effects.lets_go | effects.holds) != 0) {
    each_place(plan.count, [&](std::uint32_t i) {
      if (first_of_lock(work.window, i) == i) {
        settle_lock(planned, i);
      }
    });
  }
  if (requests || effects.lets_go != 0) {
    each_share(work, plan, [&](const SessionShare& share) { unlink_share(planned, share); });
  }
  if (requests || effects.holds != 0) {
    each_share(work, plan, [&](const SessionShare& share) { link_share(planned, share); });
  }
  if (effects.lets_go != 0) {
    remove_locks(work, plan);
  }
}

GCOORD_HD inline PlannedWindow effects_of(const WindowWork& work, const WindowPlan& plan) {
  if (plan.passes() != 0) {
    find_owners(work, plan);
  }
  PlannedWindow planned{work, plan, {}, 0, {}};
  find_effects(planned);
  planned.added = planned.effects.holds != 0 ? added_locks(work, plan) : 0;
  planned.demand = demand_of_window(planned);
  return planned;
}

// Carries it out; the writer's windows have the rows of its demand. name(place, bytes) puts the
// name of an acquire together.
template <typename Name>
GCOORD_HD void settle_window(const PlannedWindow& planned, const Name& name) {
  const WindowWork& work = planned.work;
  const WindowPlan& plan = planned.plan;
  if (planned.added != 0) {
    create_locks(planned, name);
  }
  each_place(plan.count,
             [&](std::uint32_t i) { work.window.chain[i] = answer_command(planned, i); });
  add_up_chain(work, plan.count);
  if (plan.passes() != 0) {
    each_place(plan.count, [&](std::uint32_t i) {
      if ((plan.passes() >> i & 1) != 0) {
        end_passed(work, plan, i);
      }
    });
  }
  settle_lists(planned);
  if (planned.demand.requests != 0) {
    first_member([&] { take_ahead(work.tables.requests, planned.demand.requests); });
  }
  settle_shard(work, plan);
}

}  // namespace gcoord::locks
