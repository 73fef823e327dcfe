// Linearizable reads of a row: what its host asks, and when the answer may be given.
//
// No entry is written for a read. The step answers it under the leader's lease, or opens a round
// that a quorum has to acknowledge (ReadIndex; Raft thesis, section 6.4), and says up to which
// index the state must have been applied before the read sees it (docs/adr/0156).
//
// A lease counts in ticks of the clock's reading that the stripe took over. That reading may be
// older than the read: a device that is shared pauses kernels for as long as it likes. So the
// device's clock is read once more, after the read was taken from its ring, and a reading whose
// tick is over by then is proof of nothing: the read goes by a round.
//
// An answer at once lies in its request's own place among the refusals. One of a round, which comes
// in a later turn, takes a place among what the turn tells; where there is none the round is
// opened again as it was, so that the next turn gives the answer. By the thread of the row's place.
// Host and device.
#pragma once

#include "common/device/memory_device.h"
#include "common/hd.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "server/device_turn/drain_outbox.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// Before the step: what the host asks of the row.
template <typename Service>
GCOORD_HD void ask_read(const RowTurn<Service>& r, consensus::InboxHead& in) {
  if constexpr (Service::kTellsHost) {
    const std::uint32_t asked = r.desk.order[r.place].read;
    if (asked == 0) {
      return;
    }
    const TurnRequest request = request_at(r.desk, asked - 1);
    const bool by_lease =
        request.word[1] == static_cast<std::uint64_t>(consensus::ReadProof::LeaseOrRound);
    const bool in_time = by_lease && device_now_ns() < r.desk.reading.tick_end_ns;
    in.read_sequence = request.word[0];
    in.read_proof = in_time ? consensus::ReadProof::LeaseOrRound : consensus::ReadProof::Round;
  }
}

// A step that may have answered a read: one of its turn, or one whose round came to its end.
template <typename Service>
struct ReadStep {
  const RowTurn<Service>& r;
  const consensus::InboxHead& in;
  const consensus::OutboxHead& out;

  GCOORD_HD bool is_ready() const { return out.read == consensus::ReadVerdict::Ready; }

  GCOORD_HD bool is_of_turn() const { return in.read_sequence != 0; }

  GCOORD_HD ReadWay way() const {
    return is_of_turn() && in.read_proof == consensus::ReadProof::LeaseOrRound ? ReadWay::Lease
                                                                               : ReadWay::Round;
  }
};

template <typename Service>
GCOORD_HD TurnReply read_reply(const ReadStep<Service>& step, const consensus::Hot& hot) {
  // A host that has not heard of the row's snapshot would take the index for an impossible one.
  const bool owes = (step.r.node.flags[step.r.row] & kTurnInstallOwed) != 0;
  TurnReply reply;
  reply.shard = shard_of_row(step.r.row);
  reply.verdict = !step.is_ready() ? TurnVerdict::NotLeader
                  : owes           ? TurnVerdict::Overloaded
                                   : TurnVerdict::ReadReady;
  reply.tag = step.out.read_sequence;
  reply.index = step.is_ready() ? step.out.read_index : LogIndex{};
  reply.leader = hot.leader;
  reply.detail = step.is_ready() ? static_cast<std::uint32_t>(step.way()) : 0u;
  reply.term = hot.term;
  reply.result.word[0] = step.r.desk.reading.input.tick.value;
  return reply;
}

// After the step, and behind what the row has told of its entries.
template <typename Service>
GCOORD_HD void tell_read(const ReadStep<Service>& step, consensus::ShardRef shard) {
  if constexpr (Service::kTellsHost) {
    if (step.out.read == consensus::ReadVerdict::None) {
      return;
    }
    const RowTurn<Service>& r = step.r;
    const TurnReply reply = read_reply(step, shard.hot());
    if (step.is_of_turn()) {
      put_refusal(r, reply);
      return;
    }
    const std::uint32_t at = reserve_replies(r, 1);
    if (at != kTurnReplies) {
      write_reply(r, at, reply);
    } else if (step.is_ready()) {
      // Its acknowledgements stand. A leadership that ended the host sees in the table of leaders.
      shard.election().read_sequence = reply.tag;
      shard.election().read_index = reply.index;
      r.desk.again[r.place] = 1;
    }
  }
}

}  // namespace gcoord::server
