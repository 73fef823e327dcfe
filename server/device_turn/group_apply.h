// Rows whose decided entries are applied by all members of their stripe's group.
//
// A row's entries have an order, so one thread applies them one after another and waits for memory
// all the time; where clients want one name more than all others, that chain is what their shard is
// bound by. A row with several decided entries is therefore left to the group (leave_to_group),
// which applies it once all rows of the turn had their step (Service::apply_together). To the row's
// step nothing differs: its next one hears how far the group came. Few rows a turn, since the group
// takes them one after another while one thread each applies the others side by side.
//
// Contract: all members together. Host and device.
#pragma once

#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "server/device_turn/drain_outbox.h"
#include "server/device_turn/host_events.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// How many of the row's next entries come before one that the step must hear of by itself.
template <typename Service>
GCOORD_HD std::uint32_t before_configuration(const RowTurn<Service>& r, const DecidedRun& run) {
  if constexpr (Service::kReadmits) {
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t base = 0; base < run.count; base += warp_lanes()) {
      const std::uint32_t k = base + warp_rank();
      const std::uint32_t found =
          warp_ballot(k < run.count && Service::is_configuration(r.entry(run.applied + (k + 1))));
      if (found != 0) {
        return base + lowest_bit(found);
      }
    }
  }
  return run.count;
}

// Tells the host of entries of a row: see Service::apply_together().
template <typename Service>
struct GroupTeller {
  const RowTurn<Service>& r;
  LogIndex applied;
  const GroupRow& left;

  GCOORD_HD DecidedEntry entry(std::uint32_t k) const {
    return {applied + (k + 1), {left.leader, left.term}, left.at + k * kToldSlots};
  }

  GCOORD_HD void told(std::uint32_t k, const TurnResult& result) const {
    const DecidedEntry decided = entry(k);
    TurnReply reply = decided_reply(r, decided);
    reply.result = result;
    tell_applied(r, decided.at, reply);
  }

  GCOORD_HD bool apply(std::uint32_t k) const { return apply_and_tell(r, entry(k)); }
};

// Applies what was left of one row. The row is turned again for what stays.
template <typename Service>
GCOORD_HD void apply_group_row(const RowTurn<Service>& r, const GroupRow& left) {
  const LogIndex applied = r.node.applied[r.row];
  const std::uint32_t count = before_configuration(r, {r.row, applied, left.count});
  warp_sync();  // All members have read how far the row is.
  const GroupTeller<Service> teller{r, applied, left};
  std::uint32_t done = 0;
  if (count != 0) {
    const auto log = [page = r.node.page_named(r.page)](LogIndex index) {
      return page.entry(index);
    };
    done = r.node.service.apply_together(log, {r.row, applied, count}, teller);
  }
  if (warp_rank() == 0) {
    if (count == 0 && teller.apply(0)) {
      done = 1;
      r.owe(kTurnConfigured);
    }
    r.node.applied[r.row] = applied + done;
    if (done != left.count || count == 0) {
      r.desk.again[r.place] = 1;
    }
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t at = done * kToldSlots; at < left.count * kToldSlots; ++at) {
      write_reply(r, left.at + at, TurnReply{});
    }
  }
  warp_sync();
}

// The same of all such rows. Apart, and with no argument but pointers: what a call takes of a
// device's stack is there in every other call of the turn, too.
template <typename Service>
GCOORD_HD_APART void apply_group_rows(const TurnNode<Service>& node,
                                      WorkspaceFor<Service>& desk,
                                      ScratchFor<Service>& scratch) {
  const std::uint32_t rows = desk.tally.grouped;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < rows && k < kGroupRows; ++k) {
    const GroupRow left = scratch.group[k];
    if (left.count != 0) {
      const RowTurn<Service> r{node,
                               desk,
                               scratch,
                               consensus::MessageSink{},
                               left.place,
                               desk.row[left.place],
                               desk.page[left.place]};
      apply_group_row(r, left);
    }
  }
}

// Applies what the rows of the turn left to the group, after all their steps.
template <typename Service>
GCOORD_HD void apply_left(const StripeTurn<Service>& t) {
  if constexpr (Service::kTellsHost) {
    if (t.desk.tally.grouped != 0) {
      apply_group_rows(t.node, t.desk, t.scratch);
    }
  }
}

}  // namespace gcoord::server
