// Eligibility test for the plain step, which separates its rows from the others.
//
// What: a row in the middle of its term, a leader or a follower of equal voters, three or as many
// as the caller's constant says, with nothing owed but an acknowledgement. Nearly every step of a
// busy shard begins and ends in such a row, and what it needs is a tenth of the protocol. So the
// same handlers are compiled a second time for it (StepScope::Plain in step_row.h), and whatever
// the facts below exclude is left out by the compiler: on a device that is a kernel that fits its
// instruction cache and half of the registers. Contract: a plain step that stays plain gives the
// same row and the same outbox as a whole one; one that does not says so in
// OutboxHead::beyond_plain, and then the row, whose original the caller still has, takes a whole
// step. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/inbox.h"
#include "consensus/step/shard_table.h"
#include "consensus/step/step_row.h"

#include <cstdint>

namespace gcoord::consensus {

// The configuration that the plain step is compiled for.
template <std::uint32_t kVoters>
inline constexpr SlotMask kPlainMask = static_cast<SlotMask>((1u << kVoters) - 1);
inline constexpr SlotMask kPlainVoters = kPlainMask<kPlainSlots>;

template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline bool plain_configuration(const Configuration& configuration) {
  bool plain = configuration.voters == kPlainMask<kVoters> && configuration.voters_outgoing == 0 &&
               (configuration.learners | configuration.learners_next) == 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    plain = plain && configuration.weight[slot] == 1;
  }
  return plain;
}

// One run, of the present term; nothing in it waits to change the configuration.
GCOORD_HD inline bool plain_log(const Log& log, const LogRuns& runs, Term term) {
  return log.run_count == 1 && runs.start_offset[0] == 1 &&
         log.floor_term + runs.term_offset[0] == term && log.configuration_pending <= log.applied;
}

// Nobody is owed anything but the leader, no campaign, no transfer, no read round.
GCOORD_HD inline bool plain_election(const Election& election) {
  const std::uint32_t owed = election.vote_reply | election.prevote_grant |
                             election.prevote_reject | election.append_reject | election.answer |
                             election.guest_kind;
  const std::uint64_t open = election.resigned_term.value | election.transfer_expires.value |
                             election.read_sequence | election.append_context;
  return owed == 0 && open == 0 && election.transfer_target == kSlotNone;
}

// What a plain row may owe: an acknowledgement, and what found no credit the last time.
inline constexpr std::uint8_t kPlainFlags = kRowAppendReply | kRowStalled;

// What a plain row may know of a peer: nothing that re-admission is about (readmission.h).
inline constexpr std::uint8_t kPlainProgress =
    kProgressSent | kProgressKnowsCommit | kProgressHeard;

template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline bool plain_progress(ShardRef row) {
  std::uint32_t flags = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    flags |= row.progress(slot).flags;
  }
  return (flags & ~std::uint32_t{kPlainProgress}) == 0;
}

// Whether a row may try a plain step.
template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline bool is_plain(ShardRef row, const StepInput& input) {
  const Hot& hot = row.hot();
  const Storage& storage = row.storage();
  return (hot.role == Role::Leader || hot.role == Role::Follower) &&
         (hot.flags & ~kPlainFlags) == 0 && storage.durable_term == hot.term &&
         storage.durable_vote == hot.vote && storage.snapshot_pending == 0 &&
         plain_log(row.log(), row.runs(), hot.term) && plain_election(row.election()) &&
         plain_configuration<kVoters>(row.configuration()) && plain_progress<kVoters>(row) &&
         plain_order<kVoters>(row, input);
}

// Says of a plain row again what is_plain found out, but for its progress. This changes nothing;
// but a compiler that reads constants here leaves out what cannot follow, which it does not do for
// conditions.
template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline void restate_plain_row(ShardRef row, Role role, const StepInput& input) {
  Hot& hot = row.hot();
  hot.role = role;
  hot.self_slot = static_cast<std::uint8_t>(plain_self_slot<kVoters>(input));
  hot.flags = static_cast<std::uint8_t>(hot.flags & kPlainFlags);
  row.log().run_count = 1;
  row.storage().snapshot_pending = 0;
  row.storage().durable_term = hot.term;
  row.storage().durable_vote = hot.vote;
  Election& election = row.election();
  election.vote_reply = 0;
  election.prevote_grant = 0;
  election.prevote_reject = 0;
  election.append_reject = 0;
  election.answer = 0;
  election.guest_kind = 0;
  election.resigned_term = Term{};
  election.transfer_expires = Tick{};
  election.transfer_target = kSlotNone;
  election.read_sequence = 0;
  election.append_context = 0;
  Configuration& configuration = row.configuration();
  configuration.voters = kPlainMask<kVoters>;
  configuration.voters_outgoing = 0;
  configuration.learners = 0;
  configuration.learners_next = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    configuration.node[slot] = plain_node<kVoters>(input, slot);
    configuration.weight[slot] = 1;
  }
}

// All of it.
template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline void restate_plain(ShardRef row, Role role, const StepInput& input) {
  restate_plain_row<kVoters>(row, role, input);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    row.progress(slot).flags = static_cast<std::uint8_t>(row.progress(slot).flags & kPlainProgress);
  }
}

// Whether an inbox asks for nothing that a plain step cannot do. Its messages are looked at one by
// one during the step.
GCOORD_HD inline bool plain_inbox(const InboxHead& in) {
  const std::uint64_t wishes =
      in.read_sequence | in.transfer_to.value | in.snapshot_failed.value | in.campaign;
  return wishes == 0 && in.configuration_input == ConfigurationInput::None;
}

// As restate_plain.
GCOORD_HD inline void restate_plain_inbox(InboxHead& in) {
  in.read_sequence = 0;
  in.read_proof = ReadProof::LeaseOrRound;
  in.transfer_to = NodeId{};
  in.snapshot_failed = NodeId{};
  in.campaign = 0;
  in.configuration_input = ConfigurationInput::None;
}

}  // namespace gcoord::consensus
