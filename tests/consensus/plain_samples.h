// Rows, inboxes and peers for tests of the steps that are compiled for plain rows (plain_step.h):
// most of them plain and most of them busy, with a little of everything that is not; of three
// voters where nobody says else. Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/device/row_copy.h"
#include "consensus/step/plain_step.h"
#include "consensus/step/step.h"
#include "tests/consensus/draw.h"

#include <cstdint>

namespace gcoord::consensus {

inline constexpr NodeId kLeader{1};
inline constexpr Tick kNow{5000};

GCOORD_HD inline NodeId some_node(Draw& draw, std::uint32_t voters = kPlainSlots) {
  return NodeId{1 + draw.below(voters)};
}

// A leader or a follower in its term, most of them plain; invariants hold.
template <std::uint32_t voters = kPlainSlots>
GCOORD_HD RowCopy some_row(Draw& draw, NodeId self, NodeId leader = kLeader) {
  RowCopy row{};
  const bool leads = self == leader;
  row.hot.term = Term{3};
  row.hot.leader = leader;
  row.hot.vote = leads ? self : draw.once_in(2) ? leader : NodeId{};
  row.hot.leader_incarnation = Incarnation{leads ? 0u : 1u};
  row.hot.role = leads ? Role::Leader : Role::Follower;
  row.hot.self_slot = static_cast<std::uint8_t>(self.value - 1);
  row.hot.flags = !leads && draw.once_in(3) ? kRowAppendReply : std::uint8_t{0};
  row.hot.deadline = draw.once_in(2) ? kTickNever : kNow - 5 + draw.below(20);
  row.log.floor = LogIndex{draw.below(5)};
  row.log.floor_term = Term{row.log.floor.value == 0 ? 0u : 2u};
  row.log.run_count = 1;
  row.runs.start_offset[0] = 1;
  row.runs.term_offset[0] = static_cast<std::uint32_t>(row.hot.term - row.log.floor_term);
  row.log.last = row.log.floor + 3 + draw.below(8);
  row.log.commit =
      row.log.floor + draw.below(static_cast<std::uint32_t>(row.log.last - row.log.floor) + 1);
  row.log.applied =
      row.log.floor + draw.below(static_cast<std::uint32_t>(row.log.commit - row.log.floor) + 1);
  row.log.verified = leads ? LogIndex{} : max_id(row.log.commit, row.log.last - draw.below(3));
  row.storage.durable = row.log.last - draw.below(2);
  row.storage.persist_from = row.log.last + 1;
  row.storage.pending_last = row.log.last;
  row.storage.request_pending = static_cast<std::uint8_t>(draw.below(2));
  row.storage.durable_term = row.hot.term;
  row.storage.durable_vote = row.hot.vote;
  row.election.transfer_target = kSlotNone;
  row.election.leader_since = kNow - draw.below(300);
  row.configuration.voters = static_cast<SlotMask>((1u << voters) - 1);
  for (std::uint32_t slot = 0; slot < voters; ++slot) {
    row.configuration.node[slot] = NodeId{slot + 1};
    row.configuration.weight[slot] = 1;
    Progress& progress = row.progress[slot];
    progress.match = leads ? row.log.last - draw.below(4) : LogIndex{};
    progress.next =
        leads ? min_id(progress.match + 1 + draw.below(3), row.log.last + 1) : LogIndex{};
    progress.acked_session = draw.once_in(5) ? 0 : 1;
    progress.state = draw.once_in(6) ? ProgressState::Probe : ProgressState::Replicate;
    progress.flags = static_cast<std::uint8_t>(draw.below(8));
  }
  if (draw.once_in(20)) {
    row.election.answer = 1;
  }
  if (draw.once_in(20)) {
    row.log.configuration_pending = row.log.last;
  }
  return row;
}

GCOORD_HD inline std::uint64_t near(Draw& draw, std::uint64_t value) {
  return draw.once_in(40) ? std::uint64_t{1} << (20 + draw.below(44)) : value + draw.below(4) - 1;
}

template <std::uint32_t voters = kPlainSlots>
GCOORD_HD Message
some_message(Draw& draw, const RowCopy& row, NodeId self, NodeId leader = kLeader) {
  const bool leads = self == leader;
  Message m;
  m.shard = ShardId{draw.once_in(50) ? 8u : 7u};
  m.kind = draw.once_in(10) ? static_cast<MessageKind>(draw.below(13))
                            : (leads ? MessageKind::AppendReply : MessageKind::Append);
  m.flags = draw.once_in(10)            ? static_cast<std::uint8_t>(draw.below(64))
            : !leads && draw.once_in(4) ? kFlagNotice
                                        : std::uint8_t{0};
  const NodeId other{1 + (leader.value + draw.below(voters - 1)) % voters};
  m.from = leads ? other : draw.once_in(20) ? NodeId{draw.below(voters + 2)} : leader;
  m.to = draw.once_in(50) ? leader : self;
  m.term = Term{draw.once_in(10) ? 1 + draw.below(5) : row.hot.term.value};
  m.index = LogIndex{near(draw, row.log.last.value)};
  m.log_term = Term{draw.once_in(10) ? draw.below(5) : row.hot.term.value};
  m.commit = LogIndex{near(draw, row.log.commit.value)};
  m.count = static_cast<std::uint16_t>(leads ? 0 : draw.below(4));
  m.entry_term =
      leads ? near(draw, kNow.value) : (draw.once_in(15) ? draw.below(5) : row.hot.term.value);
  m.context = draw.once_in(20) ? 1 : 0;
  return m;
}

GCOORD_HD inline InboxHead some_inbox(Draw& draw, const RowCopy& row) {
  InboxHead in;
  in.message_count = draw.below(3);
  in.proposal_count = draw.below(3);
  in.storage_ack = {row.hot.term, draw.once_in(15) ? NodeId{3} : row.hot.vote, draw.below(2)};
  in.applied = draw.once_in(2) ? LogIndex{} : row.log.commit;
  in.compact_to = draw.once_in(15) ? row.log.applied : LogIndex{};
  in.campaign = draw.once_in(30) ? 1 : 0;
  in.woken = draw.once_in(10) ? 1 : 0;
  in.read_sequence = draw.once_in(30) ? 9 : 0;
  in.read_proof = draw.once_in(2) ? ReadProof::Round : ReadProof::LeaseOrRound;
  return in;
}

template <std::uint32_t kPeers>
GCOORD_HD void fill_peers(Draw& draw, NodeId self, PeerLiveness (&peer)[kPeers]) {
  std::uint32_t count = 0;
  for (std::uint32_t node = 1; node <= kPeers + 1; ++node) {
    if (NodeId{node} != self) {
      PeerLiveness& one = peer[count++];
      one.node = NodeId{node};
      one.incarnation = Incarnation{draw.once_in(15) ? 2u : 1u};
      one.session = draw.once_in(15) ? 2 : 1;
      one.credit = draw.once_in(15) ? 0 : 100;
      one.heard = kNow - (draw.once_in(15) ? 150 : 1);
      one.acked_send = kNow - 2;
      one.peer_tick = Tick{900};
      one.session_base = kNow - 50;
      one.live = draw.once_in(15) ? 0 : 1;
    }
  }
}

struct Stepped {
  RowCopy row;
  Outbox out;
};

template <StepScope scope, std::uint32_t kVoters = kPlainSlots>
GCOORD_HD Stepped
step_as(const RowCopy& row, const InboxHead& in, const Message* messages, const StepInput& input) {
  Stepped stepped{row, {}};
  const Configuration unused;
  const StepArrays arrays{.configuration = &unused,
                          .stored = stepped.out.stored,
                          .sink = sink_of(stepped.out.message, kOutboxMessages)};
  const ShardRef shard = ref_of(stepped.row, ShardId{7}, kVoters);
  step_with<scope, kVoters>(shard, in, messages, stepped.out, arrays, input);
  return stepped;
}

}  // namespace gcoord::consensus
