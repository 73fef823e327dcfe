// One row in one turn: inbox, step, and everything that the outbox asks for but sending.
//
// Called by one thread per place; threads of a group share nothing here but the tally and the list
// of replies, which they claim with relaxed atomics. In the order of consensus/outbox.h: entries of
// the Appends that the step took over, a snapshot, new entries; storage is the memory that they lie
// in (StepInput::stored_at_once); messages stay in the scratch until the group sends them; decided
// entries are applied. Host and device; loops are bounded by the shape.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/message_tiles.h"
#include "consensus/packed_table.h"
#include "consensus/row_copy.h"
#include "consensus/step.h"
#include "server/device_turn_desk.h"
#include "server/device_turn_tell.h"

#include <cstdint>
#include <cstring>

namespace gcoord::server {

// Entries that one turn applies to one row; the rest is asked for again.
inline constexpr std::uint32_t kTurnApply = 64;

template <typename Service>
struct RowTurn {
  using Entry = typename Service::Entry;

  const StripeTurn<Service>& t;
  std::uint32_t place;
  std::uint32_t row;

  GCOORD_HD const TurnNode<Service>& node() const { return t.node; }

  GCOORD_HD const StripeDesk& desk() const { return t.desk; }

  GCOORD_HD const netcore::Slot* slot_of(std::uint32_t k) const {
    const std::uint32_t code = desk().arrived[place][k];
    return &desk().slots[code / kTurnSlots][code % kTurnSlots];
  }

  // What the host is still to be told of the row (device_turn_tell.h).
  GCOORD_HD void owe(std::uint8_t what) const {
    node().flags[row] = static_cast<std::uint8_t>(node().flags[row] | what);
  }

  // Writes an entry of this node's log, and which request it is the answer to.
  GCOORD_HD void store(LogIndex index, const Entry& entry, std::uint64_t tag) const {
    node().entry(row, index) = entry;
    if (node().client.epoch != 0) {
      node().origin_of(row, index) = tag;
    }
  }
};

// The messages of one inbox, in the slots in which they came. An Append beyond what the row's log
// has room for is made one that cannot be, which the step drops and counts.
template <typename Service>
struct StagedMessages {
  const RowTurn<Service>& r;
  LogIndex room;

  GCOORD_HD consensus::Message operator[](std::uint32_t k) const {
    consensus::Message m =
        consensus::MessagePlace{reinterpret_cast<const std::byte*>(r.slot_of(k)), 1}.load();
    if (m.kind == consensus::MessageKind::Append && m.index.value + m.count > room.value) {
      m.kind = consensus::MessageKind::None;
    }
    return m;
  }
};

GCOORD_HD inline consensus::MessageTiles tiles_of(StripeScratch& scratch) {
  return {reinterpret_cast<std::byte*>(scratch.message), kTurnPlaces, kTurnMessages};
}

// --- Before the step

// Entries that a log page takes beyond what it holds; the last ones are for what a row must append
// itself, like a leader's no-op. Where the host is slow to hear, entries stay longer than they are
// decided, so a page can be full.
template <typename Service>
GCOORD_HD std::uint32_t page_room(const TurnShape& shape, const consensus::Log& log) {
  constexpr std::uint32_t kOwn = Service::kTellsHost ? 2 : 0;
  const auto used = static_cast<std::uint32_t>(log.last - log.floor);
  return used + kOwn < shape.log_slots ? shape.log_slots - used - kOwn : 0;
}

template <typename Service>
GCOORD_HD void fill_inbox(const RowTurn<Service>& r,
                          consensus::ShardRef shard,
                          consensus::InboxHead& head,
                          consensus::Configuration& configuration) {
  const consensus::Log& log = shard.log();
  head.message_count = r.desk().arrived_count[r.place];
  head.woken = r.desk().woken[r.place];
  head.applied = r.node().applied[r.row];
  if (log.last - log.floor >= r.node().shape.log_slots / 2) {
    const LogIndex applied = max_id(log.applied, head.applied);
    head.compact_to =
        LogIndex{applied.value > Service::kEntriesKept ? applied.value - Service::kEntriesKept : 0};
  }
  head.proposal_count = r.desk().proposal_count[r.place];
  if constexpr (Service::kTellsHost) {
    const std::uint32_t room = page_room<Service>(r.node().shape, log);
    head.proposal_count = head.proposal_count < room ? head.proposal_count : room;
  }
  if (head.proposal_count == 0 && shard.hot().role == consensus::Role::Leader) {
    head.proposal_count = r.node().service.offers(r.row, r.desk().reading.order);
    if (head.proposal_count != 0) {
      r.node().service.offering(r.row);
    }
  }
  const std::uint32_t snapshot = r.desk().snapshot[r.place];
  if (snapshot != 0) {
    head.configuration_input = consensus::ConfigurationInput::Installed;
    std::memcpy(
        static_cast<void*>(&configuration), r.slot_of(snapshot - 1) + 1, sizeof configuration);
  }
  for (std::uint32_t k = 0; k < head.message_count; ++k) {
    r.t.scratch.stored[r.place * consensus::kInboxMessages + k] = LogIndex{};
  }
}

// --- After the step

// Entries of the Appends that the step took over, and the state of a snapshot.
template <typename Service>
GCOORD_HD void store_arrived(const RowTurn<Service>& r, const consensus::OutboxHead& out) {
  using Entry = typename Service::Entry;
  const std::uint32_t count = r.desk().arrived_count[r.place];
  for (std::uint32_t k = 0; k < count; ++k) {
    const netcore::Slot* slot = r.slot_of(k);
    if (out.snapshot_installed == k + 1) {
      r.node().service.install(r.row, slot[kSnapshotSlots]);
      r.node().applied[r.row] = LogIndex{consensus::load_chunk(slot->bytes + 16).word[1]};
      if constexpr (Service::kTellsHost) {
        r.owe(kTurnInstallOwed);
      }
    }
    const LogIndex stored = r.t.scratch.stored[r.place * consensus::kInboxMessages + k];
    if (stored.value == 0) {
      continue;
    }
    const auto messages = static_cast<std::uint32_t>(consensus::load_chunk(slot).word[0] >> 48);
    const LogIndex before{consensus::load_chunk(slot->bytes + 16).word[1]};
    for (std::uint32_t at = 0; at < messages; ++at) {
      if (before + (at + 1) >= stored) {
        Entry entry;
        std::memcpy(&entry, slot[1].bytes + at * sizeof(Entry), sizeof entry);
        r.store(before + (at + 1), entry, 0);
      }
    }
  }
}

// What became of the requests that were proposed.
template <typename Service>
GCOORD_HD void store_requested(const RowTurn<Service>& r,
                               const consensus::Hot& hot,
                               const consensus::OutboxHead& out) {
  const bool overloaded = hot.role == consensus::Role::Leader ||
                          out.proposal == consensus::ProposalVerdict::Overloaded ||
                          out.proposal == consensus::ProposalVerdict::Accepted;
  const std::uint32_t count = r.desk().proposal_count[r.place];
  for (std::uint32_t k = 0; k < count; ++k) {
    const TurnRequest request = request_at(r.t.scratch, r.desk().proposal[r.place][k]);
    if (k < out.accepted.count) {
      r.store(out.accepted.first + k, Service::command(request), request.tag);
    } else {
      refuse(
          r.t, request, overloaded ? TurnVerdict::Overloaded : TurnVerdict::NotLeader, hot.leader);
    }
  }
}

template <typename Service>
GCOORD_HD void store_new(const RowTurn<Service>& r,
                         const consensus::Hot& hot,
                         const consensus::InboxHead& in,
                         const consensus::OutboxHead& out) {
  const Service& service = r.node().service;
  if (r.desk().proposal_count[r.place] != 0) {
    store_requested(r, hot, out);
  } else if (in.proposal_count != 0) {
    for (std::uint32_t k = 0; k < out.accepted.count; ++k) {
      const LogIndex index = out.accepted.first + k;
      r.store(index, service.offer(r.row, index, k), 0);
    }
    service.offered(r.row, out.accepted.first, out.accepted.count);
  }
  if (out.own_entry.count != 0) {
    GCOORD_ASSERT(out.own_entry.kind == consensus::EntryKind::Noop);
    r.store(out.own_entry.first, Service::noop(), 0);
  }
}

// A snapshot that the step sends is the service as it is now: nothing was applied since.
template <typename Service>
GCOORD_HD void save_snapshot(const RowTurn<Service>& r, consensus::ShardRef shard) {
  bool wanted = false;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
    wanted = wanted || shard.progress(slot).state == consensus::ProgressState::Snapshot;
  }
  if (wanted && shard.hot().role == consensus::Role::Leader) {
    GCOORD_ASSERT(shard.log().applied == r.node().applied[r.row]);
    netcore::Slot* snapshot = r.t.scratch.snapshot[r.place];
    std::memcpy(&snapshot[0], &shard.configuration(), sizeof(consensus::Configuration));
    r.node().service.save(r.row, snapshot[1]);
  }
}

// Applies one decided entry. False: there is no room for the reply that is owed; later.
template <typename Service>
GCOORD_HD bool apply_entry(const RowTurn<Service>& r, const consensus::Hot& hot, LogIndex index) {
  const std::uint64_t tag = r.node().client.epoch != 0 ? r.node().origin_of(r.row, index) : 0;
  std::uint32_t at = kTurnReplies;
  if (tag != 0) {
    at = reserve_replies(r.t.desk, r.t.scratch, 1);
    if (at == kTurnReplies) {
      return false;
    }
  }
  const auto entry = r.node().entry(r.row, index);
  TurnReply reply;
  if (!Service::is_noop(entry)) {
    reply.result = r.node().service.apply(r.row, index, entry);
    relaxed_add(r.t.desk.tally.applied, 1);
  }
  if (tag != 0) {
    reply.shard = ShardId{r.row};
    reply.verdict = TurnVerdict::Committed;
    reply.tag = tag;
    reply.index = index;
    reply.leader = hot.leader;
    write_reply(r.t.scratch, at, reply);
  }
  return true;
}

// Whether decided entries are left for the next turn.
template <typename Service>
GCOORD_HD bool apply_decided(const RowTurn<Service>& r,
                             const consensus::Hot& hot,
                             const consensus::ApplyRequest& request) {
  LogIndex& applied = r.node().applied[r.row];
  const LogIndex before = applied;
  LogIndex index = before;
  const LogIndex last = min_id(request.last, before + kTurnApply);
  if constexpr (Service::kTellsHost) {
    while (index < last && apply_and_tell(r, hot, index + 1)) {
      index = index + 1;
    }
  } else {
    while (index < last && apply_entry(r, hot, index + 1)) {
      index = index + 1;
    }
  }
  if (index != before) {
    applied = index;
  }
  return index < request.last;
}

// What the group adds up.
template <typename Service>
GCOORD_HD void count_row(const RowTurn<Service>& r,
                         consensus::Role before,
                         const consensus::Hot& hot,
                         const consensus::OutboxHead& out) {
  TurnTally& tally = r.t.desk.tally;
  const bool led = before == consensus::Role::Leader;
  const bool leads = hot.role == consensus::Role::Leader;
  if (led != leads) {
    relaxed_add(tally.led, leads ? 1u : ~0u);
    relaxed_add(tally.elected, leads ? 1u : 0u);
  }
  if ((hot.flags & consensus::kRowStalled) != 0) {
    relaxed_add(tally.stalled, 1);
  }
  if (out.dropped != 0) {
    relaxed_add(tally.dropped, out.dropped);
  }
}

template <typename Service>
GCOORD_HD void carry_out(const RowTurn<Service>& r,
                         consensus::ShardRef shard,
                         const consensus::InboxHead& in,
                         const consensus::OutboxHead& out) {
  const consensus::Hot& hot = shard.hot();
  StripeDesk& desk = r.t.desk;
  if (in.message_count != 0) {
    store_arrived(r, out);
  }
  store_new(r, hot, in, out);
  save_snapshot(r, shard);
  bool again = out.again != 0;
  if (out.apply.first.value != 0) {
    const bool left = apply_decided(r, hot, out.apply);
    if (left) {
      // To be asked for again: the step takes "applied up to 0" for no news, so a row whose very
      // first entry found no room would wait for ever.
      shard.storage().apply_pending = 0;
    }
    again = left || again;
  }
  if constexpr (Service::kTellsHost) {
    again = !tell_owed(r, hot) || again;
  }
  // What a leader has under way calls it when it is answered: time enough to propose more.
  const consensus::Log& log = shard.log();
  const bool settled = hot.role == consensus::Role::Leader && log.last == log.commit;
  again = again || (settled && r.node().service.offers(r.row, desk.reading.order) != 0);
  desk.again[r.place] = again ? 1 : 0;
  desk.message_count[r.place] = static_cast<std::uint8_t>(out.message_count);
  desk.deadline[r.place] = hot.deadline;
}

// The turn of the row in a place; `credit` has a bit for each peer that takes messages.
template <typename Service>
GCOORD_HD_FLAT void turn_row(const StripeTurn<Service>& t,
                             std::uint32_t place,
                             std::uint32_t credit) {
  const RowTurn<Service> r{t, place, t.desk.row[place]};
  TurnRowArrays& arrays = t.desk.arrays[place];
  consensus::Hot hot;
  consensus::Log log;
  consensus::Storage storage;
  consensus::Election election;
  const consensus::RowParts parts{
      hot, log, arrays.runs, storage, election, arrays.configuration, arrays.progress};
  const consensus::ShardRef shard = consensus::ref_of(parts, ShardId{r.row}, kTurnNodes);
  const std::uint32_t wide_place = consensus::load_row(t.node.table, r.row, shard);
  const consensus::Role before = hot.role;
  const Term term_before = hot.term;
  const NodeId leader_before = hot.leader;
  consensus::InboxHead in;
  consensus::Configuration configuration;
  fill_inbox(r, shard, in, configuration);
  const StagedMessages<Service> messages{r, log.last + page_room<Service>(t.node.shape, log)};
  consensus::OutboxHead out;
  const consensus::StepArrays step_arrays{
      .configuration = &configuration,
      .stored = t.scratch.stored + place * consensus::kInboxMessages,
      .sink = tiles_of(t.scratch).sink(place)};
  consensus::step_with(shard, in, messages, out, step_arrays, t.desk.input[credit]);
  GCOORD_ASSERT(log.last - log.floor <= t.node.shape.log_slots);
  if constexpr (Service::kTellsHost) {
    if (hot.role != before || hot.term != term_before || hot.leader != leader_before) {
      r.owe(kTurnRoleOwed);
    }
  }
  carry_out(r, shard, in, out);
  count_row(r, before, hot, out);
  if (!consensus::store_row(t.node.table, r.row, wide_place, shard)) {
    relaxed_add(t.desk.tally.exhausted, 1);
  }
}

// The row as an empty replica of three voters, which every node of a cluster starts with.
template <typename Service>
GCOORD_HD void start_row(const TurnNode<Service>& node, std::uint32_t row) {
  consensus::RecoveredShard recovered;
  recovered.configuration.voters = (1u << kTurnNodes) - 1;
  for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
    recovered.configuration.node[slot] = NodeId{slot + 1};
    recovered.configuration.weight[slot] = 1;
  }
  consensus::RowCopy copy;
  const consensus::ShardRef shard = consensus::ref_of(copy, ShardId{row}, kTurnNodes);
  consensus::recover(shard, recovered, node.self);
  GCOORD_ASSERT(consensus::store_row(node.table, row, consensus::kNotWide, shard));
}

}  // namespace gcoord::server
