// Effects of one row's outbox after its step, except sending.
//
// Called by one thread per place; threads of a group share nothing here but the tally and the list
// of replies, which they claim with relaxed atomics. In the order of consensus/step/outbox.h:
// entries of the Appends that the step took over, a snapshot, new entries; storage is the memory
// that they lie in (StepInput::stored_at_once), or the host's (device_turn_store.h); messages stay
// in the scratch until the group sends them; decided entries are applied. Host and device; loops
// are bounded by the shape.
#pragma once

#include "common/assert.h"
#include "common/device/aligned_copy.h"
#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/step.h"
#include "server/device_turn/host_events.h"
#include "server/device_turn/scratch.h"
#include "server/device_turn/store.h"

#include <cstdint>

namespace gcoord::server {

// Entries that one turn applies to one row; the rest is asked for again.
inline constexpr std::uint32_t kTurnApply = 64;

// One row at work.
template <typename Service>
struct RowTurn {
  using Entry = typename Service::Entry;
  static constexpr std::uint32_t kVoters = kVotersOf<Service>;

  const TurnNode<Service>& node;
  WorkspaceFor<Service>& desk;
  ScratchFor<Service>& scratch;
  consensus::MessageSink sink;
  std::uint32_t place;
  std::uint32_t row;
  std::uint32_t page;  // The row's log page, as LogPages::of_row; kNoLogPage: it has none.

  // Entries and tags of the row's log, which has a page.
  GCOORD_HD Entry& entry(LogIndex index) const { return node.entry_in(page, index); }

  GCOORD_HD std::uint64_t& origin_of(LogIndex index) const { return node.origin_in(page, index); }

  GCOORD_HD const netcore::Slot* slot_of(std::uint32_t k) const {
    const std::uint32_t code = desk.arrived[place][k];
    return &desk.slots[code / kTurnSlots][code % kTurnSlots];
  }

  // Of Append k: its first entry to keep; 0: none.
  GCOORD_HD LogIndex* stored() const { return desk.stored[place]; }

  // What the host is still to be told of the row (device_turn_tell.h).
  GCOORD_HD void owe(std::uint8_t what) const {
    node.flags[row] = static_cast<std::uint8_t>(node.flags[row] | what);
  }

  // Writes an entry of this node's log, and which request it is the answer to.
  GCOORD_HD void store(LogIndex index, const Entry& entry, std::uint64_t tag) const {
    this->entry(index) = entry;
    if (node.client.epoch != 0) {
      origin_of(index) = tag;
    }
  }

  // Lays entry k of those that the turn appends where an Append of the only row has it: it need not
  // be fetched from the log, which takes a device a round to memory.
  GCOORD_HD void lay(std::uint32_t k, const Entry& entry) const {
    if (place == 0 && k < kTurnEntriesMax) {
      store_aligned<alignof(Entry)>(desk.outgoing[kBehindAlone<Service>].bytes + k * sizeof(Entry),
                                    entry);
    }
  }

  // All of them are laid.
  GCOORD_HD void end_lay(LogIndex first, std::uint32_t count) const {
    if (place != 0 || count > kTurnEntriesMax) {
      return;
    }
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t k = count; k % kSlotEntries<Entry> != 0; ++k) {
      lay(k, Entry{});
    }
    desk.laid.first = first;
    desk.laid.count = count;
  }
};

// The state of a snapshot that the step took over.
template <typename Service>
GCOORD_HD void store_snapshot(const RowTurn<Service>& r, const consensus::OutboxHead& out) {
  if (out.snapshot_installed != 0) {
    const netcore::Slot* slot = r.slot_of(out.snapshot_installed - 1u);
    r.node.service.install(r.row, slot[kSnapshotSlots]);
    const LogIndex index{consensus::load_chunk(slot->bytes + 16).word[1]};
    r.node.applied[r.row] = index;
    if constexpr (Service::kEntriesKept != 0) {
      r.entry(index) = Service::noop();  // Nothing that is there is of this log (pages.h).
    }
    if constexpr (Service::kHashed) {
      if (r.node.trees.any()) {
        r.node.trees.lose(r.row);
      }
    }
    if constexpr (Service::kTellsHost) {
      r.owe(kTurnInstallOwed);
    }
  }
}

// Entries of the Appends that the step took over.
template <typename Service>
GCOORD_HD void store_arrived(const RowTurn<Service>& r) {
  using Entry = typename Service::Entry;
  const std::uint32_t count = r.desk.arrived_count[r.place];
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < count; ++k) {
    const LogIndex stored = r.stored()[k];
    if (stored.value == 0) {
      continue;
    }
    const netcore::Slot* slot = r.slot_of(k);
    const auto entries = static_cast<std::uint32_t>(consensus::load_chunk(slot).word[0] >> 48);
    const LogIndex before{consensus::load_chunk(slot->bytes + 16).word[1]};
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t at = 0; at < entries; ++at) {
      if (before + (at + 1) >= stored) {
        // Entries lie side by side and fill slots.
        const auto entry = load_aligned<Entry, sizeof(Entry)>(slot[1].bytes + at * sizeof(Entry));
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
  const bool transferring = out.proposal == consensus::ProposalVerdict::Transferring;
  const TurnVerdict verdict = transferring ? TurnVerdict::Transferring
                              : overloaded ? TurnVerdict::Overloaded
                                           : TurnVerdict::NotLeader;
  const std::uint32_t count = r.desk.proposal_count[r.place];
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < count; ++k) {
    const TurnRequest request = request_at(r.desk, r.desk.proposal[r.place][k]);
    if (k < out.accepted.count) {
      const auto entry = Service::command(request);
      r.store(out.accepted.first + k, entry, request.tag);
      r.lay(k, entry);
    } else {
      refuse(r, request, verdict, hot.leader);
    }
  }
}

template <typename Service>
GCOORD_HD void store_new(const RowTurn<Service>& r,
                         const consensus::Hot& hot,
                         const consensus::InboxHead& in,
                         const consensus::OutboxHead& out) {
  const Service& service = r.node.service;
  if (r.desk.proposal_count[r.place] != 0) {
    store_requested(r, hot, out);
  } else if (in.proposal_count != 0) {
    for (std::uint32_t k = 0; k < out.accepted.count; ++k) {
      const LogIndex index = out.accepted.first + k;
      const auto entry = service.offer(r.row, index, k);
      r.store(index, entry, 0);
      r.lay(k, entry);
    }
    service.offered(r.row, out.accepted.first, out.accepted.count);
  }
  if (out.accepted.count != 0) {
    r.end_lay(out.accepted.first, out.accepted.count);
  }
}

// The first entry of a leader's term, or the end of a joint configuration.
template <typename Service>
GCOORD_HD void store_own(const RowTurn<Service>& r,
                         consensus::ShardRef shard,
                         const consensus::OutboxHead& out) {
  if (out.own_entry.count == 0) {
    return;
  }
  if constexpr (Service::kReadmits) {
    if (out.own_entry.kind == consensus::EntryKind::Configuration) {
      const consensus::Configuration left = consensus::leave_joint(shard.configuration());
      r.store(out.own_entry.first, Service::configuration_entry(left), 0);
      return;
    }
  }
  GCOORD_ASSERT(out.own_entry.kind == consensus::EntryKind::Noop);
  const std::uint64_t tag = Service::kTellsHost ? own_term_tag(shard.hot().term) : 0;
  r.store(out.own_entry.first, Service::noop(), tag);
}

// A snapshot that the step sends is the service as it is now: nothing was applied since.
template <typename Service>
GCOORD_HD void save_snapshot(const RowTurn<Service>& r, consensus::ShardRef shard) {
  bool wanted = false;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVotersOf<Service>; ++slot) {
    wanted = wanted || shard.progress(slot).state == consensus::ProgressState::Snapshot;
  }
  if (wanted && shard.hot().role == consensus::Role::Leader) {
    GCOORD_ASSERT(shard.log().applied == r.node.applied[r.row]);
    netcore::Slot* snapshot = r.scratch.snapshot[r.place];
    store_aligned<alignof(netcore::Slot)>(&snapshot[0], shard.configuration());
    r.node.service.save(r.row, snapshot[1]);
  }
}

// Applies one decided entry. False: there is no room for the reply that is owed; later.
template <typename Service>
GCOORD_HD bool apply_entry(const RowTurn<Service>& r, const consensus::Hot& hot, LogIndex index) {
  const std::uint64_t tag = r.node.client.epoch != 0 ? r.origin_of(index) : 0;
  std::uint32_t at = kTurnReplies;
  if (tag != 0) {
    at = reserve_replies(r, 1);
    if (at == kTurnReplies) {
      return false;
    }
  }
  const auto entry = r.entry(index);
  TurnReply reply;
  if (!Service::is_noop(entry)) {
    reply.result = r.node.service.apply(r.row, index, entry);
    relaxed_add(r.desk.tally.applied, 1);
  }
  if (tag != 0) {
    reply.shard = shard_of_row(r.row);
    reply.verdict = TurnVerdict::Committed;
    reply.tag = tag;
    reply.index = index;
    reply.leader = hot.leader;
    write_reply(r, at, reply);
    relaxed_add(r.desk.tally.answered, 1);
  }
  return true;
}

// Whether the entry that was just applied is a configuration, of which the next step is told.
template <typename Service>
GCOORD_HD bool note_configured(const RowTurn<Service>& r, LogIndex index) {
  if constexpr (Service::kReadmits) {
    if (Service::is_configuration(r.entry(index))) {
      r.owe(kTurnConfigured);
      return true;
    }
  }
  return false;
}

// Whether decided entries are left for the next turn, or a configuration is to be told of; of what
// is left to the group, that says so (group_apply.h). `told`: the turn has told something of the
// row already.
template <typename Service>
GCOORD_HD bool apply_decided(const RowTurn<Service>& r,
                             const consensus::Hot& hot,
                             const consensus::ApplyRequest& request,
                             bool told) {
  LogIndex& applied = r.node.applied[r.row];
  const LogIndex before = applied;
  LogIndex index = before;
  const LogIndex last = min_id(request.last, before + kTurnApply);
  bool configured = false;
  std::uint32_t groups = 0;  // Entries that the group applies, behind `index`.
  if constexpr (Service::kTellsHost) {
    if (index < last && !told && apply_together(r, index + 1)) {
      index = index + 1;
    }
    const LedBy by{hot.leader, hot.term};
    groups = leave_to_group(r, by, {r.row, index, static_cast<std::uint32_t>(last - index)});
    while (index < last && groups == 0 && !configured && apply_and_tell(r, {index + 1, by})) {
      index = index + 1;
      configured = note_configured(r, index);
    }
  } else {
    while (index < last && apply_entry(r, hot, index + 1)) {
      index = index + 1;
    }
  }
  if (index != before) {
    applied = index;
  }
  return index + groups < request.last || configured;
}

// What the group adds up.
template <typename Service>
GCOORD_HD void count_row(const RowTurn<Service>& r,
                         consensus::Role before,
                         const consensus::Hot& hot,
                         const consensus::OutboxHead& out) {
  TurnTally& tally = r.desk.tally;
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

// Whether the host is to store what the step asks for.
template <typename Service>
GCOORD_HD bool stages(const RowTurn<Service>& r, const consensus::OutboxHead& out) {
  if constexpr (Service::kTellsHost) {
    return (out.storage.present != 0) & (r.desk.reading.input.stored_at_once == 0);
  } else {
    return false;
  }
}

// Applies what is decided and tells what is owed. Whether something is left for the next turn.
// `told`: the turn has told something of the row already.
template <typename Service>
GCOORD_HD bool carry_on(const RowTurn<Service>& r,
                        consensus::ShardRef shard,
                        const consensus::ApplyRequest& apply,
                        bool told) {
  bool left = false;
  if (apply.first.value != 0) {
    left = apply_decided(r, shard.hot(), apply, told);
    if (left) {
      // To be asked for again: the step takes "applied up to 0" for no news, so a row whose very
      // first entry found no room would wait for ever.
      shard.storage().apply_pending = 0;
    }
  }
  if constexpr (Service::kTellsHost) {
    left = !tell_owed(r, shard) || left;
  }
  return left;
}

// What the group does next about the row: sends what it says, and turns it again or later.
template <typename Service>
GCOORD_HD void note_turned(const RowTurn<Service>& r,
                           const consensus::Hot& hot,
                           const consensus::OutboxHead& out,
                           bool again) {
  r.desk.again[r.place] = again ? 1 : 0;
  r.desk.message_count[r.place] = static_cast<std::uint8_t>(out.message_count);
  r.desk.deadline[r.place] = hot.deadline;
}

// Whether a leader with nothing under way is offered more by its service. What it has under way
// calls it when it is answered: time enough to propose more.
template <typename Service>
GCOORD_HD bool is_offered(const RowTurn<Service>& r,
                          const consensus::Hot& hot,
                          const consensus::Log& log) {
  const bool settled = (hot.role == consensus::Role::Leader) & (log.last == log.commit);
  return settled && r.node.service.offers(r.row, r.desk.reading.order) != 0;
}

template <typename Service>
GCOORD_HD void drain_outbox(const RowTurn<Service>& r,
                            consensus::ShardRef shard,
                            const consensus::InboxHead& in,
                            const consensus::OutboxHead& out) {
  const consensus::Hot& hot = shard.hot();
  if (in.message_count != 0) {
    store_arrived(r);
  }
  store_new(r, hot, in, out);
  bool again = out.again != 0;
  const bool staged = stages(r, out);
  if constexpr (Service::kTellsHost) {
    again = (staged && !stage(r, shard, out.storage)) || again;
  }
  again = carry_on(r, shard, out.apply, staged) || again;
  again = again || is_offered(r, hot, shard.log());
  note_turned(r, hot, out, again);
}

}  // namespace gcoord::server
