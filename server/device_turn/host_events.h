// Events from a stripe to its host, for services that report everything (TurnReply; kTellsHost).
//
// Two slots for a decided entry: the reply, then the entry; a third of one for a no-op. One for a
// snapshot that took a row's place, which the row owes (its flags) until there is room. Called by
// the one thread that has the row, after its step; in the order in which the host must hear: a
// snapshot before the entries behind it. Nothing is dropped: without room the row is turned again.
// Who leads a row finds its way beside the ring (leader_table.h). Host and device.
#pragma once

#include "common/device/aligned_copy.h"
#include "common/hd.h"
#include "consensus/step/shard_table.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// Slots of a decided entry on its way to the host.
inline constexpr std::uint32_t kToldSlots = 2;

// What all that is told of a row has in common.
template <typename RowTurn>
GCOORD_HD TurnReply told_of(const RowTurn& r, NodeId leader, Term term, TurnVerdict verdict) {
  TurnReply reply;
  reply.shard = shard_of_row(r.row);
  reply.verdict = verdict;
  reply.leader = leader;
  reply.term = term;
  return reply;
}

// What the row owes at the end of its turn. False: it found no room.
template <typename RowTurn>
GCOORD_HD bool tell_owed(const RowTurn& r, consensus::ShardRef shard) {
  std::uint8_t& flags = r.node.flags[r.row];
  if ((flags & kTurnInstallOwed) == 0) {
    return true;
  }
  const std::uint32_t at = reserve_replies(r, 1);
  if (at == kTurnReplies) {
    return false;
  }
  const consensus::Hot& hot = shard.hot();
  TurnReply installed = told_of(r, hot.leader, hot.term, TurnVerdict::Installed);
  installed.index = r.node.applied[r.row];
  write_reply(r, at, installed);
  flags = static_cast<std::uint8_t>(flags & ~kTurnInstallOwed);
  return true;
}

// The row's word in the table of leaders, if it is another one than before the step.
template <typename RowTurn>
GCOORD_HD void tell_leader(const RowTurn& r, std::uint64_t before, consensus::ShardRef shard) {
  const std::uint64_t word = leader_word_of(shard, RowTurn::kVoters);
  if (word != before) {
    r.node.leaders.tell(r.row, word);
    r.desk.led_anew[r.place] = 1;
  }
}

// Tells a no-op together with those of other rows: a slot for three of them, in front of all that
// the turn tells besides. So it must be the first thing that this turn tells of its row. False: it
// is not, or there is no room, and it is to be told by itself.
template <typename RowTurn>
GCOORD_HD bool apply_together(const RowTurn& r, LogIndex index) {
  const std::uint64_t tag = r.origin_of(index);
  const bool alone = (tag == 0 || is_own_term(tag)) && r.desk.noop_room != 0 &&
                     (r.node.flags[r.row] & kTurnInstallOwed) == 0;
  if (!alone || !r.node.service.is_noop(r.entry(index))) {
    return false;
  }
  const std::uint32_t at = relaxed_add(r.desk.noop_count, 1);
  GCOORD_ASSERT(at < kTurnPlaces);  // One of each row.
  HostNoop& noop = r.scratch.noops[at / kNoopsPerSlot].noop[at % kNoopsPerSlot];
  noop.row = r.row;
  noop.own_term = tag == 0 ? 0 : static_cast<std::uint32_t>(tag);
  noop.index = index;
  relaxed_add(r.desk.tally.applied, 1);
  return true;
}

// Executes one decided entry and tells the host. False: later, for want of room or of the service.
// Apart: what a service does with an entry is longer than all the rest of a turn, and would stand
// in each of its ways. By value, what a reference would pull out of the caller's registers.
template <typename RowTurn>
GCOORD_HD_APART bool apply_and_tell(const RowTurn r, NodeId leader, Term term, LogIndex index) {
  if ((r.node.flags[r.row] & kTurnInstallOwed) != 0) {
    return false;  // The host must hear of the snapshot first.
  }
  const std::uint32_t at = reserve_replies(r, kToldSlots);
  if (at == kTurnReplies) {
    return false;
  }
  const auto entry = r.entry(index);
  static_assert(sizeof entry == netcore::kSlotBytes);
  const std::uint64_t tag = r.origin_of(index);
  const bool asked = tag != 0 && !is_own_term(tag);
  TurnReply reply = told_of(r, leader, term, asked ? TurnVerdict::Committed : TurnVerdict::Told);
  reply.tag = tag;
  reply.index = index;
  // By value, as above.
  const auto log = [page = r.node.page_named(r.page)](LogIndex earlier) {
    return page.entry(earlier);
  };
  const bool done = r.node.service.apply_told(log, r.row, index, entry, reply.result);
  if (!done) {
    reply = TurnReply{};
  }
  write_reply(r, at, reply);
  if (done) {
    store_aligned<alignof(netcore::Slot)>(&reply_slot(r, at + 1), entry);
    relaxed_add(r.desk.tally.applied, 1);
    if (asked) {
      relaxed_add(r.desk.tally.answered, 1);
    }
  } else {
    write_reply(r, at + 1, TurnReply{});
  }
  return done;
}

}  // namespace gcoord::server
