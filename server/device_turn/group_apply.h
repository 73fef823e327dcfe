// Rows whose decided entries are applied by all members of their stripe's group.
//
// A row's entries have an order, so one thread applies them one after another and waits for memory
// all the time; where clients want one name more than all others, that chain is what their shard is
// bound by. A row with several decided entries is therefore left to the group, which applies it
// once all rows of the turn had their step (Service::apply_together). To the row's step it is a row
// with entries left: the next turn tells it how far the group came. Few rows a turn, since the
// group takes them one after another while one thread each applies the others side by side.
//
// Contract: leave_to_group() by the thread that has the row, the rest by all members together. Host
// and device.
#pragma once

#include "common/bits.h"
#include "common/device/device_atomic.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "server/device_turn/host_events.h"
#include "server/device_turn/scratch.h"

#include <cstdint>
#include <type_traits>

namespace gcoord::server {

// Decided entries from which on a row is left to its group: more than two pairs of an acquire and a
// release, with the pieces of their names. A window costs about as much as one member takes for two
// commands; see docs/internals/performance_device.md.
inline constexpr std::uint32_t kTurnTogether = 6;

// Leaves the next `count` decided entries of the row to the group. False: they are its own.
template <typename RowTurn>
GCOORD_HD bool leave_to_group(const RowTurn& r, const consensus::Hot& hot, std::uint32_t count) {
  if (count < kTurnTogether || (r.node.flags[r.row] & kTurnInstallOwed) != 0) {
    return false;
  }
  const std::uint32_t at = relaxed_add(r.desk.tally.grouped, 1);
  if (at < kGroupRows) {
    r.scratch.group[at] = {r.place, count, hot.leader, hot.term};
  }
  return at < kGroupRows;
}

// How many of the row's next entries come before one that the step must hear of by itself.
template <typename RowTurn>
GCOORD_HD std::uint32_t before_configuration(const RowTurn& r,
                                             LogIndex applied,
                                             std::uint32_t count) {
  using Service = std::remove_cvref_t<decltype(r.node.service)>;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t base = 0; base < count; base += warp_lanes()) {
    const std::uint32_t k = base + warp_rank();
    const std::uint32_t found =
        warp_ballot(k < count && Service::is_configuration(r.node.entry(r.row, applied + (k + 1))));
    if (found != 0) {
      return base + lowest_bit(found);
    }
  }
  return count;
}

// Applies what was left of one row. What finds no room with the host stays for the next turn.
template <typename RowTurn>
GCOORD_HD_APART void apply_group_row(const RowTurn r, const GroupRow left) {
  const LogIndex applied = r.node.applied[r.row];
  const std::uint32_t at = r.desk.reply_count;
  const std::uint32_t room = at < r.desk.reply_room ? (r.desk.reply_room - at) / kToldSlots : 0;
  const std::uint32_t wanted = left.count < room ? left.count : room;
  const std::uint32_t count = before_configuration(r, applied, wanted);
  warp_sync();  // All members have read where the row and its replies stand.
  std::uint32_t done = 0;
  if (count != 0) {
    const auto log = [page = r.node.page(r.row)](LogIndex index) { return page.entry(index); };
    const auto told = [&](std::uint32_t k, const TurnResult& result) {
      TurnReply reply = decided_reply(r, {left.leader, left.term}, applied + (k + 1));
      reply.result = result;
      tell_applied(r, at + k * kToldSlots, reply);
    };
    done = r.node.service.apply_together(log, {r.row, applied, count}, told);
    if (warp_rank() == 0) {
      r.desk.reply_count = at + done * kToldSlots;
      r.node.applied[r.row] = applied + done;
    }
  } else if (wanted != 0 && warp_rank() == 0 &&
             apply_and_tell(r, left.leader, left.term, applied + 1)) {
    r.node.applied[r.row] = applied + 1;
    r.owe(kTurnConfigured);
  }
  warp_sync();
}

}  // namespace gcoord::server
