// One row of a resident cluster in one turn: gather, step, carry out.
//
// What: who wants a turn; the inbox out of what other nodes said in earlier turns, what storage and
// service answered, and what chance wishes for; the step; and then payloads, messages, storage and
// application in the order that consensus/outbox.h asks for.
// Contract: one thread per row and turn; reads the Outgoing of earlier turns, writes the node's own
// of this turn and the row's own columns. Payloads travel in extents beside the headers and are
// stored only as the step says. Storage answers in the next turn. Pure but for that memory; host
// and device; every loop has a constant bound or one by the shape.
#pragma once

#include "chaos/resident/resident_configurations.h"
#include "chaos/resident/resident_restart.h"
#include "chaos/resident/resident_turn_input.h"
#include "chaos/resident/resident_view.h"
#include "common/hd.h"
#include "consensus/step.h"

#include <cstdint>

namespace gcoord::chaos {

// One row at work. `place` is where it speaks.
struct RowTurn {
  const ResidentView& view;
  const ResidentTurn& turn;
  const consensus::StepInput& input;
  std::uint32_t node;
  std::uint32_t row;
  std::uint32_t place;

  GCOORD_HD const ResidentRates& rates() const { return turn.rates; }

  GCOORD_HD const Outgoing& outgoing() const { return outgoing_of(view, node, turn.number); }

  GCOORD_HD Service& service() const { return view.node[node].service[row]; }

  GCOORD_HD Entry& entry(LogIndex index) const { return log_entry(view, node, row, index); }
};

// The messages of one inbox, where their senders left them.
struct ArrivedMessages {
  consensus::MessagePlace at[consensus::kInboxMessages];
  const Entry* extent[consensus::kInboxMessages];

  GCOORD_HD consensus::Message operator[](std::uint32_t k) const { return at[k].load(); }
};

// The inbox of one step, its arrays apart from its plain fields (consensus/step_row.h).
struct Intake {
  consensus::InboxHead& head;
  consensus::Configuration& configuration;
  ArrivedMessages& arrived;
  const Shipment*& shipment;
};

// --- Who wants a turn

GCOORD_HD inline bool spoken_to(const ResidentView& view,
                                std::uint64_t number,
                                std::uint32_t node,
                                std::uint32_t row) {
  std::uint32_t receivers = 0;
  for (std::uint32_t age = 1; age < view.shape.ages && age <= number; ++age) {
    for (std::uint32_t other = 0; other < kResidentNodes; ++other) {
      const Outgoing& outgoing = outgoing_of(view, other, number - age);
      receivers |= other == node ? 0u : outgoing.receivers[row];
    }
  }
  return (receivers >> node & 1u) != 0;
}

GCOORD_HD inline bool is_first_leader(const ResidentTurn& turn,
                                      std::uint32_t node,
                                      std::uint32_t row) {
  return turn.rates.first_leaders != 0 && row % kResidentNodes == node;
}

// Whether a row is to be stepped in this turn; called for every row in every turn. Takes back what
// the row said when this turn's Outgoing was last used.
GCOORD_HD inline bool wants_turn(const ResidentView& view,
                                 const ResidentTurn& turn,
                                 std::uint32_t node,
                                 std::uint32_t row,
                                 Tick deadline) {
  std::uint8_t& receivers = outgoing_of(view, node, turn.number).receivers[row];
  if (receivers != 0) {
    receivers = 0;
  }
  const NodeTurn& now = turn.node[node];
  const bool called = view.node[node].due[row] != 0 || deadline <= now.input.tick ||
                      (now.wake_all | now.restart) != 0 || is_first_leader(turn, node, row);
  if (called || spoken_to(view, turn.number, node, row)) {
    return true;
  }
  const std::uint32_t wake = turn.rates.wake;
  return wake != 0 &&
         random_below(chance(turn.seed, Chance::Wish, node, row, turn.number), 1u << 16) < wake;
}

// --- Gathering

// What storage and service answered to the row's last turn.
GCOORD_HD inline void take_note(const RowTurn& t, consensus::ShardRef shard, const Intake& intake) {
  const std::uint8_t due = t.view.node[t.node].due[t.row];
  intake.head.woken = t.turn.node[t.node].wake_all | ((due & kDueWoken) != 0 ? 1 : 0);
  if ((due & kDueNote) == 0) {
    return;
  }
  const Outgoing& last = outgoing_of(t.view, t.node, t.turn.number - 1);
  const Note note = last.note[last.place[t.row]];
  intake.head.storage_ack = note.ack;
  intake.head.applied = note.applied;
  if (note.configuration != 0) {
    intake.head.configuration_input = consensus::ConfigurationInput::Applied;
    intake.head.configuration_index = note.applied;
    intake.configuration = configuration_of(note.configuration - 1, shard.configuration());
  }
}

// How many turns a message takes; ages: it never comes.
GCOORD_HD inline std::uint32_t delay_of(const RowTurn& t,
                                        std::uint32_t sender,
                                        std::uint64_t sent,
                                        std::uint32_t k) {
  const ResidentRates& rates = t.rates();
  if (rates.by_chance == 0) {
    return 1;
  }
  const std::uint64_t number = (sent * kResidentNodes + t.node) * kResidentMessages + k;
  const std::uint32_t roll =
      random_below(chance(t.turn.seed, Chance::Fate, sender, t.row, number), 1u << 16);
  if (roll < rates.lost) {
    return kResidentAges;
  }
  return roll < rates.lost + rates.late ? 2 : roll < rates.lost + 2 * rates.late ? 3 : 1;
}

// Takes message k of a sender's place, if it is for us, comes now and there is room. Only one
// snapshot fits an inbox, and none beside another configuration; the network loses the others.
GCOORD_HD inline void take_message(const RowTurn& t,
                                   const Outgoing& from,
                                   std::uint32_t place,
                                   std::uint32_t k,
                                   const Intake& intake) {
  const consensus::MessageSink lies = from.messages.sink(place);
  const consensus::MessagePlace message{lies.chunk(k, 0), lies.chunk_stride};
  if (message.receiver() != t.input.self ||
      intake.head.message_count == consensus::kInboxMessages) {
    return;
  }
  if (message.kind() == consensus::MessageKind::Snapshot) {
    if (intake.head.configuration_input != consensus::ConfigurationInput::None) {
      return;
    }
    intake.shipment = &from.shipment[place];
    intake.head.configuration_input = consensus::ConfigurationInput::Installed;
    intake.configuration = intake.shipment->configuration;
  }
  const std::uint32_t at = intake.head.message_count++;
  intake.arrived.at[at] = message;
  intake.arrived.extent[at] = extent_of(t.view, from, t.node, place);
}

GCOORD_HD inline void take_messages(const RowTurn& t, const Intake& intake) {
  const std::uint64_t number = t.turn.number;
  for (std::uint32_t age = 1; age < t.view.shape.ages && age <= number; ++age) {
    for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
      const Outgoing& from = outgoing_of(t.view, sender, number - age);
      if (sender == t.node || (from.receivers[t.row] >> t.node & 1u) == 0) {
        continue;
      }
      const std::uint32_t place = from.place[t.row];
      for (std::uint32_t k = 0; k < from.message_count[place]; ++k) {
        if (delay_of(t, sender, number - age, k) == age) {
          take_message(t, from, place, k, intake);
        }
      }
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
  if (rates.by_chance == 0) {
    return;
  }
  const std::uint64_t one = chance(t.turn.seed, Chance::Pick, t.node, t.row, 2 * t.turn.number);
  const std::uint64_t two = chance(t.turn.seed, Chance::Pick, t.node, t.row, 2 * t.turn.number + 1);
  consensus::InboxHead& in = intake.head;
  in.campaign = happens(one, 0, rates.campaign) ? 1 : 0;
  in.proposal_count = happens(one, 1, rates.propose) ? rates.proposal_count : 0;
  in.read_sequence = happens(one, 2, rates.read) ? t.turn.number + 1 : 0;
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

// --- Carrying out

// Sixteen random bytes. Who proposed them, and when, is part of the seed: two leaders that put
// entries at one index put different ones.
GCOORD_HD inline Entry command(const RowTurn& t, LogIndex index) {
  const std::uint64_t one =
      chance(t.turn.seed, Chance::Command, t.node, t.row, index.value ^ t.turn.number << 32);
  return {{one, mix64(one) >> 1}};
}

GCOORD_HD inline void store_payloads(const RowTurn& t,
                                     const Intake& intake,
                                     const LogIndex* stored) {
  for (std::uint32_t k = 0; k < intake.head.message_count; ++k) {
    if (stored[k].value == 0) {
      continue;
    }
    const consensus::Message m = intake.arrived[k];
    for (std::uint32_t at = 0; at < m.count; ++at) {
      const LogIndex index = m.index + (at + 1);
      if (index >= stored[k]) {
        t.entry(index) = intake.arrived.extent[k][at];
      }
    }
  }
}

GCOORD_HD inline void store_own(const RowTurn& t,
                                const Intake& intake,
                                const consensus::OutboxHead& out) {
  for (std::uint32_t k = 0; k < out.accepted.count; ++k) {
    const LogIndex index = out.accepted.first + k;
    t.entry(index) = command(t, index);
  }
  if (out.configuration_index.value != 0) {
    t.entry(out.configuration_index) = {
        {intake.head.configuration_index.value, kConfigurationMark}};
  }
  if (out.own_entry.count != 0) {
    const bool noop = out.own_entry.kind == consensus::EntryKind::Noop;
    t.entry(out.own_entry.first) =
        noop ? Entry{{0, kNoopMark}} : Entry{{kLeaveChoice, kConfigurationMark}};
  }
}

// Copies what an Append carries into the extent for its receiver, a snapshot's state beside it.
GCOORD_HD inline void load_payload(const RowTurn& t,
                                   consensus::ShardRef shard,
                                   const consensus::Message& m,
                                   std::uint32_t receiver) {
  if (m.kind == consensus::MessageKind::Append) {
    GCOORD_ASSERT(m.count <= t.view.shape.entries_max);
    GCOORD_ASSERT(shard.log().last - m.index <= t.view.shape.log_slots);
    Entry* extent = extent_of(t.view, t.outgoing(), receiver, t.place);
    for (std::uint32_t at = 0; at < m.count; ++at) {
      extent[at] = t.entry(m.index + (at + 1));
    }
  } else if (m.kind == consensus::MessageKind::Snapshot) {
    GCOORD_ASSERT(t.service().index == m.index);
    t.outgoing().shipment[t.place] = {shard.configuration(), t.service()};
  }
}

// Sends: the headers lie where the step put them; payloads join them, and the row says to whom it
// spoke. A receiver that is no node of this cluster hears nothing.
GCOORD_HD inline void send(const RowTurn& t,
                           consensus::ShardRef shard,
                           const consensus::OutboxHead& out) {
  const consensus::MessageSink sink = t.outgoing().messages.sink(t.place);
  std::uint32_t receivers = 0;
  for (std::uint32_t k = 0; k < out.message_count; ++k) {
    const consensus::Message m =
        consensus::MessagePlace{sink.chunk(k, 0), sink.chunk_stride}.load();
    const std::uint32_t receiver = m.to.value - 1;
    if (receiver < kResidentNodes) {
      receivers |= 1u << receiver;
      load_payload(t, shard, m, receiver);
    }
  }
  t.outgoing().message_count[t.place] = static_cast<std::uint8_t>(out.message_count);
  t.outgoing().receivers[t.row] = static_cast<std::uint8_t>(receivers);
  t.outgoing().place[t.row] = t.place;
}

// Applies in order, up to the first configuration, and notes how far.
GCOORD_HD inline void apply(const RowTurn& t, const consensus::ApplyRequest& request, Note& note) {
  if (request.first.value == 0) {
    return;
  }
  Service service = t.service();
  GCOORD_ASSERT(request.first == service.index + 1);
  const LogIndex last = min_id(request.last, service.index + kApplyEntries);
  while (service.index < last && note.configuration == 0) {
    ++service.index;
    const Entry entry = t.entry(service.index);
    service.digest = mix64(service.digest ^ entry.word[0]) ^ entry.word[1];
    if (entry.word[1] == kConfigurationMark) {
      note.configuration = static_cast<std::uint32_t>(entry.word[0]) + 1;
    }
  }
  note.applied = service.index;
  t.service() = service;
}

GCOORD_HD inline void carry_out(const RowTurn& t,
                                consensus::ShardRef shard,
                                const Intake& intake,
                                const LogIndex* stored,
                                const consensus::OutboxHead& out) {
  store_payloads(t, intake, stored);
  if (out.snapshot_installed != 0) {
    t.service() = intake.shipment->service;
  }
  store_own(t, intake, out);
  send(t, shard, out);
  Note note;
  if (out.storage.present != 0) {
    note.ack = {out.storage.term, out.storage.vote, 1};
  }
  apply(t, out.apply, note);
  const bool noted = note.ack.present != 0 || note.applied.value != 0;
  const bool fed = t.rates().fed != 0 && shard.hot().role == consensus::Role::Leader;
  if (noted) {
    t.outgoing().note[t.place] = note;
  }
  t.view.node[t.node].due[t.row] = static_cast<std::uint8_t>(
      (noted ? kDueNote : 0) | (out.again != 0 ? kDueAgain : 0) | (fed ? kDueFed : 0));
}

// --- The turn of one row

// The process ends after a step whose output nobody sees, and begins again from stable storage.
GCOORD_HD inline void restart(const RowTurn& t, consensus::ShardRef shard) {
  restart_row(shard, t.input.self, t.view.shape.log_slots);
  t.outgoing().receivers[t.row] = 0;
  t.view.node[t.node].due[t.row] = kDueWoken;
}

GCOORD_HD_FLAT void turn_row(const RowTurn& t, consensus::ShardRef shard) {
  consensus::InboxHead head;
  consensus::Configuration configuration;
  ArrivedMessages arrived;
  const Shipment* shipment = nullptr;
  const Intake intake{head, configuration, arrived, shipment};
  take_note(t, shard, intake);
  const bool restarts = t.turn.node[t.node].restart != 0;
  if (!restarts) {
    take_messages(t, intake);
    take_wishes(t, shard, intake);
    take_feed(t, shard, intake);
  }
  LogIndex stored[consensus::kInboxMessages];
  consensus::OutboxHead out;
  const consensus::StepArrays arrays{&configuration, stored, t.outgoing().messages.sink(t.place)};
  consensus::step_with(shard, head, arrived, out, arrays, t.input);
  if (restarts) {
    restart(t, shard);
  } else {
    carry_out(t, shard, intake, stored, out);
  }
}

}  // namespace gcoord::chaos
