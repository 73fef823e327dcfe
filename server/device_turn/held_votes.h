// Votes of a candidate that has no log page yet.
//
// Elected, it would have to store the first entry of its term at once (pages.h). So its whole step
// goes without the votes of others, and it has them again behind it. By the thread of the row's
// place. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/step/configuration.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/quorum.h"
#include "consensus/step/shard_table.h"
#include "server/device_turn/drain_outbox.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// Votes that are kept from a candidate without a log page for its step, so that it is not elected
// while it cannot store the first entry of its term. Its own does not elect it (pages.h).
struct HeldVotes {
  Term term;  // 0: it is no candidate.
  consensus::SlotMask granted = 0;
};

GCOORD_HD inline HeldVotes hold_votes(consensus::ShardRef shard) {
  const consensus::Hot& hot = shard.hot();
  if (hot.role != consensus::Role::Candidate) {
    return {};
  }
  GCOORD_ASSERT(hot.self_slot != consensus::kSlotNone);
  consensus::Election& election = shard.election();
  const HeldVotes held{hot.term, election.granted};
  election.granted =
      static_cast<consensus::SlotMask>(held.granted & consensus::slot_bit(hot.self_slot));
  return held;
}

// After the step: gives them back to a candidate that it still is, with those that came in this
// turn, as messages that are a little late. When a node dies, thousands of rows are to be led at
// once; each would campaign again half an election timeout later. Whether they elect it: then it
// only waits for a page, and takes part in the next turn.
template <typename Service>
GCOORD_HD bool return_votes(const RowTurn<Service>& r, consensus::ShardRef shard, HeldVotes held) {
  const consensus::Hot& hot = shard.hot();
  if (hot.role != consensus::Role::Candidate || hot.term != held.term) {
    return false;
  }
  consensus::Election& election = shard.election();
  consensus::SlotMask granted = static_cast<consensus::SlotMask>(election.granted | held.granted);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < r.desk.arrived_count[r.place]; ++k) {
    const consensus::Message m =
        consensus::MessageSlot{reinterpret_cast<const std::byte*>(r.slot_of(k)), 1}.load();
    const bool vote = m.kind == consensus::MessageKind::VoteReply && m.term == held.term &&
                      (m.flags & consensus::kFlagReject) == 0;
    const std::uint8_t slot =
        vote ? consensus::slot_of(shard.configuration(), m.from) : consensus::kSlotNone;
    if (slot != consensus::kSlotNone) {
      granted = static_cast<consensus::SlotMask>(granted | consensus::slot_bit(slot));
    }
  }
  // The first verdict of a campaign stands.
  election.granted = static_cast<consensus::SlotMask>(granted & ~election.rejected);
  const bool own = consensus::has_slot(election.granted, hot.self_slot);
  return own &&
         consensus::vote_result(shard.configuration(), election.granted, election.rejected) ==
             consensus::VoteResult::Won;
}

}  // namespace gcoord::server
