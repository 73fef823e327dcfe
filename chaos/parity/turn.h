// The step of one row: the second part of its turn.
//
// Makes an inbox out of what was gathered, what storage and service answered, and what chance
// wishes for; steps the row; and leaves in RowWork what is to be carried out. Messages lie
// where their senders left them and where this row's readers will find them: nothing is copied.
// Host and device; see resident_row.h for the contract.
#pragma once

#include "chaos/parity/configurations.h"
#include "chaos/parity/gather.h"
#include "chaos/parity/restart.h"
#include "chaos/parity/row.h"
#include "common/hd.h"
#include "consensus/device/packed_row.h"
#include "consensus/step/step.h"
#include "consensus/step/step_plain.h"

#include <cstdint>

namespace gcoord::chaos {

// The inbox of one step, its configuration apart from its plain fields (consensus/step/step_row.h).
struct Intake {
  consensus::InboxHead& head;
  consensus::Configuration& configuration;
};

// What storage and service answered to the row's last turn.
GCOORD_HD inline void take_note(const RowTurn& t, consensus::ShardRef shard, const Intake& intake) {
  intake.head.woken = t.turn.node[t.node].wake_all | ((t.due() & kDueWoken) != 0 ? 1 : 0);
  const Note& note = t.work.answer;
  intake.head.storage_ack = note.ack;
  intake.head.applied = note.applied;
  if (note.configuration != 0) {
    intake.head.configuration_input = consensus::ConfigurationInput::Applied;
    intake.head.configuration_index = note.applied;
    intake.configuration = configuration_of(note.configuration - 1, shard.configuration());
  }
}

// A snapshot brings its configuration along. Only one was let in.
GCOORD_HD inline void take_arrived(const ArrivedMessages& arrived, const Intake& intake) {
  intake.head.message_count = arrived.count();
  if (!arrived.has_snapshot()) {
    return;
  }
  for (std::uint32_t k = 0; k < intake.head.message_count; ++k) {
    if (arrived.lies(k).kind() == consensus::MessageKind::Snapshot) {
      intake.head.configuration_input = consensus::ConfigurationInput::Installed;
      intake.configuration = arrived.shipment(k).configuration;
    }
  }
}

// Whether an event of this rate happens; each takes its own 16 bits of the word.
GCOORD_HD inline bool happens(std::uint64_t word, std::uint32_t which, std::uint32_t rate) {
  return (word >> 16 * which & 0xffffu) < rate;
}

// Requests that come to every row by chance. A leader learns of a snapshot that could not be sent
// as soon as it asks for one of a node that is silent; here all are sent.
GCOORD_HD inline void take_wishes(const RowTurn& t,
                                  consensus::ShardRef shard,
                                  const Intake& intake) {
  const ResidentRates& rates = t.rates();
  if (!t.by_chance()) {
    return;
  }
  const std::uint64_t one = chance(t.turn.seed, Chance::Pick, t.node, t.row, 2 * t.turn.number);
  const std::uint64_t two = chance(t.turn.seed, Chance::Pick, t.node, t.row, 2 * t.turn.number + 1);
  consensus::InboxHead& in = intake.head;
  in.campaign = happens(one, 0, rates.campaign) ? 1 : 0;
  in.proposal_count = happens(one, 1, rates.propose) ? rates.proposal_count : 0;
  in.read_sequence = happens(one, 2, rates.read) ? t.turn.number + 1 : 0;
  in.read_proof = one >> 63 != 0 ? consensus::ReadProof::Round : consensus::ReadProof::LeaseOrRound;
  const auto target = static_cast<std::uint32_t>((one >> 48) % kResidentNodes);
  in.transfer_to = happens(two, 0, rates.transfer) ? NodeId{target + 1} : NodeId{};
  if (happens(two, 1, rates.configure) &&
      in.configuration_input == consensus::ConfigurationInput::None) {
    const auto choice = static_cast<std::uint32_t>((two >> 48) % kConfigurationChoices);
    in.configuration_input = consensus::ConfigurationInput::Proposed;
    in.configuration_index = LogIndex{choice};
    intake.configuration = configuration_of(choice, shard.configuration());
  }
  if (happens(two, 2, rates.compact)) {
    in.compact_to = shard.log().applied;
  }
}

// The log has log_slots entries; what would be overwritten soon is forgotten in time.
GCOORD_HD inline void take_feed(const RowTurn& t, consensus::ShardRef shard, const Intake& intake) {
  const consensus::Log& log = shard.log();
  if (log.last - log.floor >= t.view.shape.log_slots / 2) {
    intake.head.compact_to = max_id(log.applied, intake.head.applied);
  }
  if (t.rates().fed != 0 && shard.hot().role == consensus::Role::Leader) {
    intake.head.proposal_count = t.rates().proposal_count;
  }
  if (is_first_leader(t.turn, t.node, t.row)) {
    intake.head.campaign = 1;
  }
}

// --- After the step

// What seldom happens, for the carry-out.
GCOORD_HD inline std::uint8_t leave_rare(const RowTurn& t,
                                         consensus::ShardRef shard,
                                         const consensus::InboxHead& in,
                                         const consensus::OutboxHead& out) {
  std::uint32_t rare = 0;
  if (out.own_entry.count != 0) {
    rare |= kRareOwnEntry;
    t.work.own_entry = out.own_entry;
  }
  if (out.configuration_index.value != 0) {
    rare |= kRareConfiguration;
    t.work.configuration_index = out.configuration_index;
    t.work.configuration_choice = static_cast<std::uint32_t>(in.configuration_index.value);
  }
  rare |= out.snapshot_installed != 0 ? kRareSnapshot : 0u;
  if (shard.hot().role == consensus::Role::Leader) {
    GCOORD_UNROLL
    for (std::uint32_t slot = 0; slot < shard.slot_count(); ++slot) {
      if (shard.progress(slot).state == consensus::ProgressState::Snapshot) {
        t.outgoing().shipment[t.place].configuration = shard.configuration();
      }
    }
  }
  return static_cast<std::uint8_t>(rare);
}

// Leaves the outbox to the carry-out. The note begins as the answer of storage and the wish to
// apply.
GCOORD_HD inline void leave_outbox(const RowTurn& t,
                                   consensus::ShardRef shard,
                                   const consensus::InboxHead& in,
                                   const consensus::OutboxHead& out) {
  t.work.rare = leave_rare(t, shard, in, out);
  t.work.accepted = out.accepted;
  t.work.message_count = out.message_count;
  const bool noted = out.storage.present != 0 || out.apply.first.value != 0;
  t.work.note.ack = {out.storage.term, out.storage.vote, out.storage.present};
  t.work.note.applied = out.apply.last;
  const bool fed = t.rates().fed != 0 && shard.hot().role == consensus::Role::Leader;
  t.due() = static_cast<std::uint8_t>((noted ? kDueNote : 0) | (out.again != 0 ? kDueAgain : 0) |
                                      (fed ? kDueFed : 0));
}

// The process ends after a step whose output nobody sees, and begins again from stable storage.
GCOORD_HD inline void restart(const RowTurn& t, consensus::ShardRef shard) {
  restart_row(shard, t.input.self, t.view.shape.log_slots);
  t.work.rare = kRareRestart;
  t.due() = kDueWoken;
}

// What chance and the feed wish for, and what arrived.
GCOORD_HD inline void take_all(const RowTurn& t,
                               consensus::ShardRef shard,
                               const ArrivedMessages& arrived,
                               const Intake& intake) {
  take_note(t, shard, intake);
  if (t.turn.node[t.node].restart == 0) {
    take_arrived(arrived, intake);
    take_wishes(t, shard, intake);
    take_feed(t, shard, intake);
  }
}

GCOORD_HD inline consensus::StepArrays arrays_of(const RowTurn& t,
                                                 const consensus::Configuration& configuration) {
  return {.configuration = &configuration,
          .stored = t.lists.stored,
          .sink = t.outgoing().messages.sink(t.place)};
}

GCOORD_HD_FLAT void step_row(const RowTurn& t, consensus::ShardRef shard) {
  consensus::InboxHead head;
  consensus::Configuration configuration;
  const ArrivedMessages arrived{t};
  take_all(t, shard, arrived, Intake{head, configuration});
  consensus::OutboxHead out;
  consensus::step_with(shard, head, arrived, out, arrays_of(t, configuration), t.input);
  GCOORD_ASSERT(shard.log().last - shard.log().floor <= t.view.shape.log_slots);
  if (t.turn.node[t.node].restart != 0) {
    restart(t, shard);
  } else {
    leave_outbox(t, shard, head, out);
  }
}

// The same for a row that is plain, has this role and was unpacked from `packed`, over which it is
// packed again; `intake` was filled and is plain.
template <consensus::Role role>
GCOORD_HD_FLAT bool step_plain_row(const RowTurn& t,
                                   consensus::ShardRef shard,
                                   const Intake& intake,
                                   consensus::PackedRow& packed) {
  const consensus::StepArrays arrays = arrays_of(t, intake.configuration);
  consensus::OutboxHead out;
  const bool plain = consensus::step_plain<role, /*compacts=*/false>(
      shard, intake.head, ArrivedMessages{t}, out, arrays, t.input);
  if (!plain || !consensus::pack_moving(shard, packed)) {
    return false;
  }
  GCOORD_ASSERT(shard.log().last - shard.log().floor <= t.view.shape.log_slots);
  leave_outbox(t, shard, intake.head, out);
  return true;
}

// The same if row and inbox are plain, and the row has this role.
template <consensus::Role role>
GCOORD_HD_FLAT bool try_plain_row(const RowTurn& t,
                                  consensus::ShardRef shard,
                                  consensus::PackedRow& packed) {
  if (t.turn.node[t.node].restart != 0 || shard.hot().role != role ||
      !consensus::is_plain(shard, t.input)) {
    return false;
  }
  shard.hot().role = role;  // Known to the compiler from here on.
  consensus::InboxHead head;
  consensus::Configuration configuration;
  const Intake intake{head, configuration};
  take_all(t, shard, ArrivedMessages{t}, intake);
  if (!consensus::plain_inbox(head) || head.compact_to.value != 0) {
    return false;
  }
  return step_plain_row<role>(t, shard, intake, packed);
}

}  // namespace gcoord::chaos
