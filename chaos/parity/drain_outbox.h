// Payloads, messages and application of one row: the last part of its turn.
//
// In the order that consensus/step/outbox.h asks for: entries of Appends that the step took over, a
// snapshot's state, new entries; then the payloads of what is sent, beside the headers that the
// step wrote; then application. Storage is the memory, so its answer is the note of the next turn.
// Host and device; see resident_row.h for the contract.
#pragma once

#include "chaos/parity/configurations.h"
#include "chaos/parity/gather.h"
#include "chaos/parity/row.h"
#include "common/assert.h"
#include "common/device/async_copy.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::chaos {

// Sixteen random bytes. Who proposed them, and when, is part of the seed: two leaders that put
// entries at one index put different ones.
GCOORD_HD inline Entry command(const RowTurn& t, LogIndex index) {
  const std::uint64_t one =
      chance(t.turn.seed, Chance::Command, t.node, t.row, index.value ^ t.turn.number << 32);
  return {{one, mix64(one) >> 1}};
}

// Keeps what the step took over of the Appends that arrived, and the state of a snapshot.
GCOORD_HD inline void store_arrived(const RowTurn& t, std::uint8_t rare) {
  const ArrivedMessages arrived{t};
  const std::uint32_t count = arrived.count();
  for (std::uint32_t k = 0; k < count; ++k) {
    const LogIndex stored = t.lists.stored[k];
    const bool snapshot = (rare & kRareSnapshot) != 0;
    if (stored.value == 0 && !snapshot) {
      continue;
    }
    const consensus::Message m = arrived[k];
    if (snapshot && m.kind == consensus::MessageKind::Snapshot) {
      t.service() = arrived.shipment(k).service;
    }
    const Entry* extent = arrived.extent(k);
    for (std::uint32_t at = 0; stored.value != 0 && at < m.count; ++at) {
      const LogIndex index = m.index + (at + 1);
      if (index >= stored) {
        t.entry(index) = extent[at];
      }
    }
  }
}

GCOORD_HD inline void store_own(const RowTurn& t, std::uint8_t rare) {
  const std::uint32_t accepted = t.work.accepted.count;
  for (std::uint32_t k = 0; k < accepted; ++k) {
    const LogIndex index = t.work.accepted.first + k;
    t.entry(index) = command(t, index);
  }
  if ((rare & kRareConfiguration) != 0) {
    const std::uint64_t choice = t.work.configuration_choice;
    t.entry(t.work.configuration_index) = {{choice, kConfigurationMark}};
  }
  if ((rare & kRareOwnEntry) != 0) {
    const consensus::Appended own = t.work.own_entry;
    const bool noop = own.kind == consensus::EntryKind::Noop;
    t.entry(own.first) = noop ? Entry{{0, kNoopMark}} : Entry{{kLeaveChoice, kConfigurationMark}};
  }
}

// Copies what an Append carries into the extent for its receiver, a snapshot's state beside it. A
// service is where the row's applied index is until this turn's application.
GCOORD_HD inline void load_payload(const RowTurn& t,
                                   const consensus::Message& m,
                                   std::uint32_t receiver) {
  if (m.kind == consensus::MessageKind::Append) {
    GCOORD_ASSERT(m.count <= t.view.shape.entries_max);
    Entry* extent = extent_of(t.view, t.outgoing(), receiver, t.place);
    const consensus::Appended made = t.work.accepted;
    for (std::uint32_t at = 0; at < m.count; ++at) {
      const LogIndex index = m.index + (at + 1);
      // What this turn has made is made again sooner than it is read back.
      const bool fresh = made.count != 0 && index >= made.first && index < made.first + made.count;
      extent[at] = fresh ? command(t, index) : t.entry(index);
    }
  } else if (m.kind == consensus::MessageKind::Snapshot) {
    GCOORD_ASSERT(t.service().index == m.index);
    t.outgoing().shipment[t.place].service = t.service();
  }
}

// Sends: the headers lie where the step put them; payloads join them, and the row says to whom it
// spoke. A receiver that is no node of this cluster hears nothing.
GCOORD_HD inline void send(const RowTurn& t) {
  std::uint32_t receivers = 0;
  MessageList said;
  const std::uint32_t count = t.work.message_count;
  for (std::uint32_t k = 0; k < count; ++k) {
    const consensus::Message m = message_place(t.outgoing(), t.place, k).load();
    const std::uint32_t receiver = m.to.value - 1;
    said.add(receiver, m.kind == consensus::MessageKind::Snapshot);
    if (receiver < kResidentNodes) {
      receivers |= 1u << receiver;
      load_payload(t, m, receiver);
    }
  }
  t.outgoing().messages_said[t.place] = said.word;
  t.outgoing().receivers[t.row] = static_cast<std::uint8_t>(receivers);
}

// Applies in order, up to the first configuration, and notes how far.
GCOORD_HD inline void apply(const RowTurn& t, Note& note) {
  Service service = load_service(t.ahead != nullptr ? t.ahead->service : t.service());
  const LogIndex last = min_id(note.applied, service.index + kApplyEntries);
  GCOORD_ASSERT(service.index < last);
  while (service.index < last && note.configuration == 0) {
    ++service.index;
    const bool ahead = t.ahead != nullptr && t.ahead->index == service.index;
    const Entry entry = ahead ? t.ahead->entry : t.entry(service.index);
    service.digest = mix64(service.digest ^ entry.word[0]) ^ entry.word[1];
    if (entry.word[1] == kConfigurationMark) {
      note.configuration = static_cast<std::uint32_t>(entry.word[0]) + 1;
    }
  }
  note.applied = service.index;
  store_service(service, t.service());
}

GCOORD_HD inline void carry_out_row(const RowTurn& t) {
  const std::uint8_t rare = t.work.rare;
  if ((rare & kRareRestart) != 0) {
    t.outgoing().receivers[t.row] = 0;
    return;
  }
  store_arrived(t, rare);
  store_own(t, rare);
  send(t);
  Note& note = t.work.note;
  if (note.applied.value != 0) {
    await_copies();
    apply(t, note);
  }
  if (note.ack.present != 0 || note.applied.value != 0) {
    store_note(note, t.outgoing().note[t.place]);
  }
}

}  // namespace gcoord::chaos
