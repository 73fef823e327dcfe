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

// As whom the row knows its leader when an entry is applied.
struct LedBy {
  NodeId leader;
  Term term;
};

// A decided entry that is to be applied.
struct DecidedEntry {
  LogIndex index;
  LedBy by;
  std::uint32_t at = kTurnReplies;  // Where it is told, if that was reserved.
};

// Decided entries of a row from which on they are left to its group: what one look at the clients'
// ring brings. A window costs about as much as one member takes for two commands; what a client
// that waits for each answer asks is less, unless it has a name of more than 128 bytes or a note.
inline constexpr std::uint32_t kTurnTogether = kTurnRequests;

// Leaves decided entries of the row to the group, which applies them after the steps of the turn
// (group_apply.h): how many, from the first on; 0: they are the row's own. Room to tell them is put
// aside here: half of the turn's for the first such row, half of the rest for the next one, so that
// other rows find some.
template <typename RowTurn>
GCOORD_HD std::uint32_t leave_to_group(const RowTurn& r, const LedBy& by, const DecidedRun& run) {
  if (run.count < kTurnTogether || run.applied.value == 0 ||
      (r.node.flags[r.row] & kTurnInstallOwed) != 0) {
    return 0;
  }
  const std::uint32_t number = relaxed_add(r.desk.tally.grouped, 1);
  if (number >= kGroupRows) {
    return 0;
  }
  const std::uint32_t most = (r.desk.reply_room / kToldSlots) >> (1 + number);
  const std::uint32_t count = run.count < most ? run.count : most;
  GroupRow& left = r.scratch.group[number];
  left = {r.place, 0, kTurnReplies, by.leader, by.term};
  // Room that is asked for and not there is lost to all.
  const std::uint32_t taken = relaxed_add(r.desk.reply_count, 0);
  if (count >= kTurnTogether && taken + count * kToldSlots <= r.desk.reply_room) {
    left.at = reserve_replies(r, count * kToldSlots);
    left.count = left.at != kTurnReplies ? count : 0;
  }
  return left.count;
}

// What the host is told of a decided entry, but for the result.
template <typename RowTurn>
GCOORD_HD TurnReply decided_reply(const RowTurn& r, const DecidedEntry& decided) {
  const std::uint64_t tag = r.origin_of(decided.index);
  const bool asked = tag != 0 && !is_own_term(tag);
  TurnReply reply = told_of(
      r, decided.by.leader, decided.by.term, asked ? TurnVerdict::Committed : TurnVerdict::Told);
  reply.tag = tag;
  reply.index = decided.index;
  return reply;
}

// Tells the host of an entry that was applied, in two slots.
template <typename RowTurn>
GCOORD_HD void tell_applied(const RowTurn& r, std::uint32_t at, const TurnReply& reply) {
  write_reply(r, at, reply);
  const auto& entry = r.entry(reply.index);
  static_assert(sizeof entry == netcore::kSlotBytes);
  store_aligned<alignof(netcore::Slot)>(&reply_slot(r, at + 1), entry);
  relaxed_add(r.desk.tally.applied, 1);
  if (reply.verdict == TurnVerdict::Committed) {
    relaxed_add(r.desk.tally.answered, 1);
  }
}

// Executes one decided entry and tells the host. False: later, for want of room or of the service.
// Apart: what a service does with an entry is longer than all the rest of a turn, and would stand
// in each of its ways. By value, what a reference would pull out of the caller's registers.
template <typename RowTurn>
GCOORD_HD_APART bool apply_and_tell(const RowTurn r, const DecidedEntry decided) {
  if ((r.node.flags[r.row] & kTurnInstallOwed) != 0) {
    return false;  // The host must hear of the snapshot first.
  }
  const std::uint32_t at = decided.at != kTurnReplies ? decided.at : reserve_replies(r, kToldSlots);
  if (at == kTurnReplies) {
    return false;
  }
  const auto entry = r.entry(decided.index);
  TurnReply reply = decided_reply(r, decided);
  // By value, as above.
  const auto log = [page = r.node.page_named(r.page)](LogIndex earlier) {
    return page.entry(earlier);
  };
  const bool done = r.node.service.apply_told(log, r.row, decided.index, entry, reply.result);
  if (done) {
    tell_applied(r, at, reply);
  } else {
    write_reply(r, at, TurnReply{});
    write_reply(r, at + 1, TurnReply{});
  }
  return done;
}

}  // namespace gcoord::server
