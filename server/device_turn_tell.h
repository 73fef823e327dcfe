// What a stripe tells its host, for services that tell it all (TurnReply; kTellsHost).
//
// Two slots for a decided entry: the reply, then the entry. One for a change of role, and one for a
// snapshot that took a row's place; both are owed by the row (its flags) until there is room, so
// the host hears the newest role, not each. Called by the one thread that has the row, after its
// step; in the order in which the host must hear: a snapshot before the entries behind it. Nothing
// is dropped: without room the row is turned again. Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/shard_table.h"
#include "server/device_turn_desk.h"

#include <cstdint>
#include <cstring>

namespace gcoord::server {

// Slots of a decided entry on its way to the host.
inline constexpr std::uint32_t kToldSlots = 2;

// What all that is told of a row has in common.
template <typename RowTurn>
GCOORD_HD TurnReply told_of(const RowTurn& r, const consensus::Hot& hot, TurnVerdict verdict) {
  TurnReply reply;
  reply.shard = ShardId{r.row};
  reply.verdict = verdict;
  reply.leader = hot.leader;
  reply.term = hot.term;
  return reply;
}

// One notice of one slot, if the row owes it. False: no room.
template <typename RowTurn>
GCOORD_HD bool tell_one(const RowTurn& r, std::uint8_t what, const TurnReply& reply) {
  std::uint8_t& flags = r.node.flags[r.row];
  if ((flags & what) == 0) {
    return true;
  }
  const std::uint32_t at = reserve_replies(r.desk, r.scratch, 1);
  if (at == kTurnReplies) {
    return false;
  }
  write_reply(r.scratch, at, reply);
  flags = static_cast<std::uint8_t>(flags & ~what);
  return true;
}

// Who votes in a row: voters in bits 0 to 7, voters that are leaving in 8 to 15, learners in 16 to
// 23, by slots, and whether this replica has forgotten what it promised.
inline constexpr std::uint64_t kStandingForgetful = std::uint64_t{1} << 24;

GCOORD_HD inline std::uint64_t standing_of(consensus::ShardRef shard) {
  const consensus::Configuration& configuration = shard.configuration();
  const bool forgetful = (shard.hot().flags & consensus::kRowForgetful) != 0;
  return std::uint64_t{configuration.voters} | std::uint64_t{configuration.voters_outgoing} << 8 |
         std::uint64_t{configuration.learners} << 16 | (forgetful ? kStandingForgetful : 0u);
}

// What the row owes at the end of its turn. False: not all of it found room.
template <typename RowTurn>
GCOORD_HD bool tell_owed(const RowTurn& r, consensus::ShardRef shard) {
  if ((r.node.flags[r.row] & (kTurnInstallOwed | kTurnRoleOwed)) == 0) {
    return true;
  }
  const consensus::Hot& hot = shard.hot();
  TurnReply role = told_of(r, hot, TurnVerdict::Role);
  role.standing = standing_of(shard);
  role.detail = static_cast<std::uint32_t>(hot.role);
  role.index = r.node.applied[r.row];
  TurnReply installed = told_of(r, hot, TurnVerdict::Installed);
  installed.index = r.node.applied[r.row];
  return tell_one(r, kTurnInstallOwed, installed) && tell_one(r, kTurnRoleOwed, role);
}

// Executes one decided entry and tells the host. False: later, for want of room or of the service.
template <typename RowTurn>
GCOORD_HD bool apply_and_tell(const RowTurn& r, const consensus::Hot& hot, LogIndex index) {
  if ((r.node.flags[r.row] & kTurnInstallOwed) != 0) {
    return false;  // The host must hear of the snapshot first.
  }
  const std::uint32_t at = reserve_replies(r.desk, r.scratch, kToldSlots);
  if (at == kTurnReplies) {
    return false;
  }
  const auto entry = r.node.entry(r.row, index);
  static_assert(sizeof entry == netcore::kSlotBytes);
  const std::uint64_t tag = r.node.origin_of(r.row, index);
  TurnReply reply = told_of(r, hot, tag != 0 ? TurnVerdict::Committed : TurnVerdict::Told);
  reply.tag = tag;
  reply.index = index;
  const auto log = [&r](LogIndex earlier) { return r.node.entry(r.row, earlier); };
  const bool done = r.node.service.apply_told(log, r.row, index, entry, reply.result);
  if (!done) {
    reply = TurnReply{};
  }
  write_reply(r.scratch, at, reply);
  if (done) {
    std::memcpy(&r.scratch.reply[at + 1], &entry, sizeof entry);
    relaxed_add(r.desk.tally.applied, 1);
  } else {
    write_reply(r.scratch, at + 1, TurnReply{});
  }
  return done;
}

}  // namespace gcoord::server
