// The pure step: folds one inbox into one row, lets time pass, and emits what the row then owes.
//
// Raft (Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm, 2014; Ongaro's
// thesis for pre-vote, check-quorum, transfer, joint configurations, ReadIndex and leader leases),
// with node liveness in place of heartbeats per shard. Inputs are exactly the row, the inbox and
// the step input; output is bounded; handlers change state only and `emit` at the end writes
// messages from state, so a lost message is simply owed again. Deterministic: equal inputs give
// equal rows and outboxes on every stepper. The caller gives one step at a time to a row; different
// rows are independent.
#pragma once

#include "common/hd.h"
#include "consensus/step/emit.h"
#include "consensus/step/follow.h"
#include "consensus/step/inbox.h"
#include "consensus/step/invariants.h"
#include "consensus/step/lead.h"
#include "consensus/step/outbox.h"
#include "consensus/step/readmission.h"
#include "consensus/step/recover.h"
#include "consensus/step/shard_table.h"

namespace gcoord::consensus {

// When a shard may answer linearizable reads without asking anybody: the leader's lease at
// `input.tick` (exclusive end), or Tick{0} if it holds none. Valid for reads that arrived before
// the tick was read.
GCOORD_HD inline Tick lease_expires(ShardRef shard, const StepInput& input) {
  OutboxHead unused;
  const StepArrays none;
  return lease_end(StepRow{shard, input, unused, none});
}

// Forgets the entries up to `to`; 0: none. A plain log keeps its one run, so it keeps an entry.
template <typename Row>
GCOORD_HD inline void compact_to(const Row& r, LogIndex to) {
  if constexpr (Row::kIsPlain) {
    if (!compact_one_run(r.log(), r.shard.runs(), to)) {
      r.leaves_plain();
    }
  } else if (to.value != 0) {
    compact(r.log(), r.shard.runs(), to);
  }
}

template <typename Row>
GCOORD_HD inline void on_applied(const Row& r, const InboxHead& in) {
  Log& log = r.log();
  if (in.applied > log.applied) {
    GCOORD_ASSERT(in.applied <= log.commit);
    if constexpr (Row::kIsPlain) {
      log.applied = in.applied;
    } else {
      move_applied(log, in.applied);
    }
  }
  if (in.applied.value != 0) {
    r.storage().apply_pending = 0;
  }
  if (in.configuration_input == ConfigurationInput::Applied && in.configuration_index > log.floor) {
    apply_configuration(r, *r.arrays.configuration);
  }
  compact_to(r, min_id(in.compact_to, log.applied));
}

// Terms rise one by one: nobody is two thousand million elections ahead. A forged term beyond this
// would leave the row no room for offsets (log_runs.h).
inline constexpr std::uint64_t kTermLeadMax = std::uint64_t{1} << 31;

// Whether a message could be meant for this row at all.
template <typename Row>
GCOORD_HD inline bool plausible(const Row& r, const Message& m) {
  return (m.term.value <= r.hot().term.value + kTermLeadMax) & (m.shard == r.shard.shard()) &
         (m.to == r.input.self) & (m.from != r.input.self) & (m.from.value != 0) &
         (m.term.value < kPlausibleMax) & (m.index.value < kPlausibleMax) &
         (m.log_term.value < kPlausibleMax);
}

// What a plain row is told: Appends of the leader that it knows, or answers to its own. Saying of
// the message again what was just found lets a compiler leave out what cannot follow.
template <typename Row>
GCOORD_HD inline void on_plain_message(const Row& r, Message m, std::uint32_t k) {
  const MessageKind kind = r.is_leader() ? MessageKind::AppendReply : MessageKind::Append;
  const std::uint8_t plain_flags = r.is_leader() ? std::uint8_t{0} : kFlagNotice;
  if ((m.kind != kind) | ((m.flags & ~plain_flags) != 0) | (m.term != r.hot().term)) {
    r.leaves_plain();
    return;
  }
  m.kind = kind;
  m.flags = static_cast<std::uint8_t>(m.flags & plain_flags);
  m.term = r.hot().term;
  if (r.is_leader()) {
    on_append_reply(r, m);
    return;
  }
  const bool own_term =
      (m.entry_term == m.term.value) | ((m.count == 0) & (m.entry_term < m.term.value));
  if ((m.from != r.hot().leader) | (m.context != 0) | !own_term) {
    r.leaves_plain();
    return;
  }
  m.from = r.hot().leader;
  m.context = 0;
  m.entry_term = m.term.value;  // Meant only where there are entries.
  on_append(r, m, k);
}

// m is message k of the inbox. Flat: a device that calls it keeps the whole row in its local memory
// and steps half as many rows.
template <typename Row>
GCOORD_HD_FLAT void on_message(const Row& r,
                               const InboxHead& in,
                               const Message& m,
                               std::uint32_t k) {
  if (!plausible(r, m)) {
    ++r.out.dropped;
    return;
  }
  if constexpr (Row::kIsPlain) {
    return on_plain_message(r, m, k);
  }
  switch (m.kind) {
    case MessageKind::PreVote:
      return on_pre_vote(r, m);
    case MessageKind::PreVoteReply:
      return on_pre_vote_reply(r, m);
    case MessageKind::Vote:
      return on_vote(r, m);
    case MessageKind::VoteReply:
      return on_vote_reply(r, m);
    case MessageKind::Append:
      return on_append(r, m, k);
    case MessageKind::AppendReply:
      return on_append_reply(r, m);
    case MessageKind::Snapshot:
      return on_snapshot(r, m, in, k);
    case MessageKind::TimeoutNow:
      return on_timeout_now(r, m);
    case MessageKind::StepDown:
      return on_step_down(r, m);
    case MessageKind::LeaderQuery:
      return on_leader_query(r, m);
    case MessageKind::LeaderAnswer:
      return on_leader_answer(r, m);
    case MessageKind::Readmit:
      return on_readmit(r, m);
    default:
      ++r.out.dropped;
  }
}

template <typename Row>
GCOORD_HD inline void on_snapshot_failed(const Row& r, NodeId node) {
  const std::uint8_t slot = slot_of(r.configuration(), node);
  if (!r.is_leader() || slot == kSlotNone || slot >= r.shard.slot_count()) {
    return;
  }
  Progress& progress = r.progress(slot);
  progress.flags = static_cast<std::uint8_t>(progress.flags & ~kProgressSent);
}

// What the owner of the shard asks for, as opposed to what peers say.
template <typename Row>
GCOORD_HD inline void on_local(const Row& r, const InboxHead& in) {
  if (in.snapshot_failed.value != 0) {
    on_snapshot_failed(r, in.snapshot_failed);
  }
  if (in.transfer_to.value != 0) {
    start_transfer(r, in.transfer_to);
  }
  if (in.configuration_input == ConfigurationInput::Proposed) {
    propose_configuration(r, *r.arrays.configuration);
  }
  if (in.proposal_count != 0) {
    propose(r, in.proposal_count);
  }
}

// Draws every conclusion that the inputs of this step allow. A new read round takes the place of an
// open one before that is looked at: one outbox answers one round.
template <typename Row>
GCOORD_HD inline void conclude(const Row& r, const InboxHead& in) {
  tally(r);
  if (r.is_leader()) {
    if (mute(r)) {
      append_noop(r);
    }
    leave_joint_when_due(r);
    advance_commit(r);
  }
  if (in.read_sequence != 0) {
    open_read(r, in.read_sequence, in.read_proof);
  }
  if (r.is_leader()) {
    advance_read(r);
  }
}

// Steps one row. `messages[k]` is message k of the inbox, by reference or by value, for k below
// in.message_count; `out` is cleared first. Asserts the row's invariants at the end. A scope other
// than the whole one is for rows of kVoters voters.
template <StepScope scope = StepScope::Whole,
          std::uint32_t kVoters = kPlainSlots,
          typename Messages>
GCOORD_HD_FLAT void step_with(ShardRef shard,
                              const InboxHead& in,
                              const Messages& messages,
                              OutboxHead& out,
                              const StepArrays& arrays,
                              const StepInput& input) {
  GCOORD_ASSERT(in.message_count <= kInboxMessages);
  out.clear();
  const BasicStepRow<scope, kVoters> r{shard, input, out, arrays};
  on_storage_ack(r, in.storage_ack);
  on_applied(r, in);
  if (lives_can_end(input) || is_forgetful(r)) {
    note_lives(r);
  }
  for (std::uint32_t k = 0; k < in.message_count; ++k) {
    const Message& m = messages[k];
    on_message(r, in, m, k);
  }
  run_timers(r, in);
  on_local(r, in);
  conclude(r, in);
  SlotMask behind = 0;
  if (r.is_leader()) {
    behind = members_behind(r);
    set_leader_deadline(r, behind);
  }
  emit(r, in, behind);
  if (out.beyond_plain == 0) {
    assert_invariants(r);
  }
}

// The same over an inbox and an outbox with their messages beside them.
GCOORD_HD inline void step(ShardRef shard, const Inbox& in, Outbox& out, const StepInput& input) {
  const Message* messages = in.message;
  out.clear();
  const StepArrays arrays{.configuration = &in.configuration,
                          .stored = out.stored,
                          .sink = sink_of(out.message, kOutboxMessages)};
  step_with(shard, in, messages, out, arrays, input);
}

}  // namespace gcoord::consensus
