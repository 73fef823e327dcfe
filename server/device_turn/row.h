// One row in one turn: inbox, plain or whole step, and what follows it.
//
// A row that is alone in its turn and in the middle of its term takes a plain step and is kept
// unpacked: short code, whose variables are registers. Whatever else a row needs is a whole step:
// the same text, five times the code, and a function of its own, so that the turn of a row in a
// hurry does not wait for it to be fetched. Rows that come together take it together, because some
// of them need it anyway (docs/adr/0021). Called by one thread per place. Host and device; loops
// are bounded by the shape.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/device/shared_memory.h"
#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "consensus/device/row_copy.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/step_plain.h"
#include "server/device_turn/drain_outbox.h"
#include "server/device_turn/held_votes.h"
#include "server/device_turn/readmit.h"
#include "server/device_turn/reads.h"

#include <cstdint>
#include <cstring>

namespace gcoord::server {

// Whether a row may have no log page: a plain one, whose log is never empty, has one.
enum class RowPage : std::uint8_t { Has, MayLack };

// The messages of one inbox, in the slots in which they came. An Append whose entries follow the
// log and go beyond what its page has room for is made one that cannot be, which the step drops and
// counts. One that does not follow is the step's to refuse: its sender must hear where the log
// ends. Where the row found no page, an Append that follows brings no entries: its leader could
// have sent that, is heard, and sends them again. Were it lost, such rows would elect leader after
// leader, each with one more undecided term, until no leader could append (docs/adr/0002). And one
// that does not follow is lost there: refused, it would be sent again at once, and so on. To a row
// without a page also votes, which could make it lead, and a snapshot, whose configuration could,
// are none: votes are kept for later (return_votes), a snapshot is sent again.
template <typename Service, RowPage kPage>
struct StagedMessages {
  const RowTurn<Service>& r;
  const consensus::Log& log;  // As it is when the message's turn comes.
  LogIndex room;

  GCOORD_HD consensus::Message operator[](std::uint32_t k) const {
    consensus::Message m =
        consensus::MessageSlot{reinterpret_cast<const std::byte*>(r.slot_of(k)), 1}.load();
    const bool appends = m.kind == consensus::MessageKind::Append;
    const bool follows = appends && m.index <= log.last;
    bool lost = follows && m.index.value + m.count > room.value;
    if constexpr (kPage == RowPage::MayLack) {
      if (r.page == kNoLogPage) {
        const bool page_needed = m.kind == consensus::MessageKind::VoteReply ||
                                 m.kind == consensus::MessageKind::Snapshot;
        lost = page_needed || (appends && !follows && m.count != 0);
        m.count = follows ? std::uint16_t{0} : m.count;
        m.flags = follows ? without_configuration(m.flags) : m.flags;
      }
    }
    if (lost) {
      m.kind = consensus::MessageKind::None;
    }
    return m;
  }

 private:
  GCOORD_HD static std::uint8_t without_configuration(std::uint8_t flags) {
    return static_cast<std::uint8_t>(flags & ~consensus::kFlagConfiguration);
  }
};

template <std::uint32_t kVoters>
GCOORD_HD consensus::MessageTiles tiles_of(StripeScratchOf<kVoters>& scratch) {
  return {reinterpret_cast<std::byte*>(scratch.message), kTurnPlaces, turn_messages(kVoters)};
}

// Where the only row of a turn speaks: where its messages are sent from.
template <typename Service>
GCOORD_HD consensus::MessageSink sink_alone(const StripeTurn<Service>& t) {
  constexpr std::uint32_t kMessages = turn_messages(kVotersOf<Service>);
  static_assert(kMessages <= kTurnSlots);
  return {t.desk.outgoing[0].bytes, consensus::kMessageChunks, 1, kMessages};
}

// Where the row in a place speaks.
template <typename Service>
GCOORD_HD consensus::MessageSink sink_for(const StripeTurn<Service>& t, std::uint32_t place) {
  return t.place_count == 1 ? sink_alone(t) : tiles_of(t.scratch).sink(place);
}

// --- Before the step

// Whether somebody keeps trees of the rows' logs.
template <typename Service>
GCOORD_HD bool is_hashed(const TurnNode<Service>& node) {
  if constexpr (Service::kHashed) {
    return node.trees.any();
  } else {
    return false;
  }
}

// Entries that a log page takes beyond what it holds; the last ones are for what a row must append
// itself, like a leader's no-op. Where the host is slow to hear, or entries are slow to be hashed,
// they stay longer than they are decided, so a page can be full.
template <typename Service>
GCOORD_HD std::uint32_t page_room(const TurnNode<Service>& node, const consensus::Log& log) {
  const std::uint32_t own = Service::kTellsHost || is_hashed(node) ? 2 : 0;
  const auto used = static_cast<std::uint32_t>(log.last - log.floor);
  return used + own < node.shape.log_slots ? node.shape.log_slots - used - own : 0;
}

// Entries of a page that no proposal takes where rows are hashed: a follower whose tree is behind
// the leader's has room for what is under way, and need not drop it.
inline constexpr std::uint32_t kHashedReserve = kTurnEntriesMax;

// Up to where a row that is hashed may forget its log: what is in its tree and, while it leads,
// what its living peers have, because a snapshot would cost them their trees.
template <typename Service>
GCOORD_HD LogIndex hashed_by_all(const RowTurn<Service>& r, consensus::ShardRef shard) {
  const consensus::Hot& hot = shard.hot();
  LogIndex to = r.desk.hashed_to[r.place];
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVotersOf<Service>; ++slot) {
    const std::uint32_t peer = slot < hot.self_slot ? slot : slot - 1;
    if (hot.role == consensus::Role::Leader && slot != hot.self_slot &&
        r.desk.reading.peer[peer].live != 0) {
      to = min_id(to, shard.progress(slot).match);
    }
  }
  return to;
}

// Holds proposals back for which the page of a hashed row has no room.
template <typename Service>
GCOORD_HD void hold_proposals(const RowTurn<Service>& r,
                              const consensus::Log& log,
                              consensus::InboxHead& head) {
  const std::uint32_t page = page_room(r.node, log);
  const std::uint32_t room = page > kHashedReserve ? page - kHashedReserve : 0;
  if (head.proposal_count > room) {
    head.proposal_count = room;
    relaxed_add(r.desk.tally.held, 1);
  }
}

// Entries up to the newest that is applied which the service wants to look at again: always some,
// and all pieces of a command whose end is not applied yet.
template <typename Service>
GCOORD_HD std::uint64_t kept_before(const RowTurn<Service>& r, LogIndex applied) {
  std::uint64_t kept = Service::kEntriesKept;
  if constexpr (Service::kEntriesKept != 0) {
    const std::uint64_t pieces = Service::pieces_through(r.entry(applied));
    kept = pieces > kept ? pieces : kept;
  }
  return kept;
}

// Up to where the log of a row without a tree may be forgotten, where half of its page is full; 0:
// it is not. An entry stays, so that a plain row does; and what the service wants to look at again.
template <typename Service>
GCOORD_HD LogIndex forgets_to(const RowTurn<Service>& r,
                              const consensus::Log& log,
                              LogIndex applied) {
  if (log.last - log.floor < r.node.shape.log_slots / 2) {
    return LogIndex{};
  }
  const LogIndex done = max_id(log.applied, applied);
  const std::uint64_t kept = kept_before(r, done);
  return min_id(LogIndex{done.value > kept ? done.value - kept : 0}, log.last - 1);
}

// Commands that a row is asked to take: as many as its page has room for.
template <typename Service>
GCOORD_HD std::uint32_t proposals_to(const RowTurn<Service>& r,
                                     const consensus::Log& log,
                                     std::uint32_t offers) {
  const std::uint32_t asked = offers != 0 ? offers : r.desk.proposal_count[r.place];
  if constexpr (Service::kTellsHost) {
    const std::uint32_t page = page_room(r.node, log);
    return asked < page ? asked : page;
  } else {
    return asked;
  }
}

template <typename Service>
GCOORD_HD void fill_inbox(const RowTurn<Service>& r,
                          consensus::ShardRef shard,
                          std::uint32_t offers,
                          consensus::InboxHead& head) {
  const consensus::Log& log = shard.log();
  head.message_count = r.desk.arrived_count[r.place];
  head.woken = r.desk.woken[r.place];
  head.applied = r.node.applied[r.row];
  head.storage_ack = r.desk.stored_ack[r.place];
  head.compact_to = forgets_to(r, log, head.applied);
  if (is_hashed(r.node) && head.compact_to.value != 0) {
    head.compact_to = min_id(head.compact_to, hashed_by_all(r, shard));
  }
  head.proposal_count = r.page != kNoLogPage ? proposals_to(r, log, offers) : 0;
  if constexpr (Service::kTellsHost) {
    head.transfer_to = NodeId{r.desk.order[r.place].transfer_to};
  }
  if (is_hashed(r.node)) {
    hold_proposals(r, log, head);
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < head.message_count; ++k) {
    r.stored()[k] = LogIndex{};
  }
}

// Commands that the service itself wants in the log of a row, which leads here.
template <typename Service>
GCOORD_HD std::uint32_t offers_to(const RowTurn<Service>& r) {
  if (r.desk.proposal_count[r.place] != 0) {
    return 0;
  }
  const std::uint32_t count = r.node.service.offers(r.row, r.desk.reading.order);
  if (count != 0) {
    r.node.service.offering(r.row);
  }
  return count;
}

template <typename Service>
GCOORD_HD consensus::StepArrays arrays_of(const RowTurn<Service>& r,
                                          const consensus::Configuration& configuration) {
  return {.configuration = &configuration, .stored = r.stored(), .sink = r.sink};
}

// --- The row that is kept

template <std::uint32_t kVoters>
GCOORD_HD consensus::ShardRef kept_ref(KeptRow<kVoters>& kept) {
  const consensus::RowParts parts{kept.hot,
                                  kept.log,
                                  kept.runs,
                                  kept.storage,
                                  kept.election,
                                  kept.configuration,
                                  kept.progress};
  return consensus::ref_of(parts, shard_of_row(kept.row), kVoters);
}

// Copies what a plain row means, field by field; `all`, or what a plain step moves only; with its
// progress, or without.
template <std::uint32_t kVoters, bool all, bool progress = true>
GCOORD_HD_FLAT void copy_plain(consensus::ShardRef from, consensus::ShardRef to) {
  if constexpr (all) {
    to.hot() = from.hot();
    to.election() = from.election();
    to.configuration() = from.configuration();
  }
  to.hot().flags = from.hot().flags;
  to.hot().deadline = from.hot().deadline;
  to.log() = from.log();
  to.runs().start_offset[0] = from.runs().start_offset[0];
  to.runs().term_offset[0] = from.runs().term_offset[0];
  to.storage() = from.storage();
  if constexpr (progress) {
    GCOORD_UNROLL
    for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
      to.progress(slot) = from.progress(slot);
    }
  }
}

// Counts the places of wide rows. A node that has few left leaves, so that its host can give it
// more before the turns that are under way find none.
template <typename Service>
GCOORD_HD void count_places(const TurnNode<Service>& node, std::uint32_t row, bool was_wide) {
  const bool wide = consensus::is_wide(node.table.packed[row]);
  if (node.wide_ask == 0 || wide == was_wide) {
    return;
  }
  const std::uint32_t before = relaxed_add(*node.wide_used, wide ? 1u : ~0u);
  if (wide && before + 1 >= node.wide_ask) {
    static_cast<void>(relaxed_claim(node.control->abort, kAbortPlacesShort));
  }
}

// Stores a row as it came out of its turn; `wide_place` is what load_row said of it. False: it
// found no place, and the node must stop.
template <typename Service>
GCOORD_HD bool store_turned(const TurnNode<Service>& node,
                            std::uint32_t row,
                            std::uint32_t wide_place,
                            consensus::ShardRef shard) {
  if (!consensus::store_row<kMoreOf<Service>>(node.table, row, wide_place, shard)) {
    return false;
  }
  count_places(node, row, wide_place != consensus::kNotWide);
  return true;
}

// Puts the kept row back into the table. One member.
template <typename Service>
GCOORD_HD_APART void put_back(const TurnNode<Service>& node, WorkspaceFor<Service>& desk) {
  const consensus::ShardRef kept = kept_ref(desk.kept);
  if (!store_turned(node, desk.kept.row, consensus::kNotWide, kept)) {
    relaxed_add(desk.tally.exhausted, 1);
  }
  desk.kept.row = kNoTurnPlace;
}

// --- Steps

// Gets a row that is alone, if it is plain.
template <typename Service>
GCOORD_HD_FLAT bool load_plain(const RowTurn<Service>& r,
                               consensus::ShardRef shard,
                               const consensus::StepInput& input) {
  if (r.desk.kept.row == r.row) {
    copy_plain<kVotersOf<Service>, true>(kept_ref(r.desk.kept), shard);
    return true;
  }
  const consensus::PackedRow packed = consensus::load_packed(r.node.table.packed[r.row]);
  if (consensus::is_wide(packed)) {
    return false;
  }
  consensus::unpack(packed, r.node.table.deadline[r.row], shard);
  consensus::load_more<kMoreOf<Service>>(r.node.table, r.row, shard);
  return consensus::is_plain<kVotersOf<Service>>(shard, input);
}

// Keeps it. The column of deadlines is scanned, and so is always right.
template <typename Service>
GCOORD_HD_FLAT void keep_plain(const RowTurn<Service>& r, consensus::ShardRef shard) {
  if (r.desk.kept.row == r.row) {
    copy_plain<kVotersOf<Service>, false>(shard, kept_ref(r.desk.kept));
  } else {
    r.desk.kept.row = r.row;
    r.desk.kept.page = r.page;
    copy_plain<kVotersOf<Service>, true>(shard, kept_ref(r.desk.kept));
  }
  r.node.table.deadline[r.row] = shard.hot().deadline;
}

// Whether more is asked of a row than a plain step can do: what is asked for again after nothing
// was applied is a matter of the whole row (drain_outbox).
template <typename Service>
GCOORD_HD bool asks_whole(const RowTurn<Service>& r) {
  const HostOrder order = r.desk.order[r.place];
  const std::uint32_t wishes = r.desk.snapshot[r.place] | order.transfer_to | order.read;
  return (wishes != 0) | (r.node.applied[r.row].value == 0);
}

// Steps a loaded row in the plain scope and carries out what follows; false: it needs more than
// that, and nothing was done. The row is still to be kept.
template <typename Service>
GCOORD_HD_FLAT bool step_within_plain(const RowTurn<Service>& r,
                                      consensus::ShardRef shard,
                                      const consensus::StepInput& input,
                                      std::uint32_t offers) {
  const consensus::Log& log = shard.log();
  consensus::InboxHead in;
  fill_inbox(r, shard, offers, in);
  const StagedMessages<Service, RowPage::Has> messages{r, log, log.last + page_room(r.node, log)};
  const consensus::StepArrays arrays = arrays_of(r, shard.configuration());
  consensus::OutboxHead out;
  const bool stayed =
      shard.hot().role == consensus::Role::Leader
          ? consensus::step_plain<consensus::Role::Leader, true, kVotersOf<Service>>(
                shard, in, messages, out, arrays, input)
          : consensus::step_plain<consensus::Role::Follower, true, kVotersOf<Service>>(
                shard, in, messages, out, arrays, input);
  if (!stayed) {
    return false;
  }
  GCOORD_ASSERT(log.last - log.floor <= r.node.shape.log_slots);
  drain_outbox(r, shard, in, out);
  count_row(r, shard.hot().role, shard.hot(), out);
  return true;
}

// The turn of a row that is alone by a plain step; false: it needs a whole one, and nothing was
// done.
template <typename Service>
GCOORD_HD_FLAT bool turn_plain(const RowTurn<Service>& r,
                               std::uint32_t credit,
                               std::uint32_t offers) {
  if (asks_whole(r)) {
    return false;
  }
  consensus::Hot hot;
  consensus::Log log;
  consensus::LogRuns runs;
  consensus::Storage storage;
  consensus::Election election;
  consensus::Configuration configuration;
  consensus::Progress progress[kVotersOf<Service>];
  const consensus::RowParts parts{hot, log, runs, storage, election, configuration, progress};
  const consensus::ShardRef shard =
      consensus::ref_of(parts, shard_of_row(r.row), kVotersOf<Service>);
  consensus::StepInput input = r.desk.input[credit];
  input.peer_count = kPeersOf<Service>;  // As a constant, which a loop over them needs.
  if (!load_plain(r, shard, input) || !step_within_plain(r, shard, input, offers)) {
    return false;
  }
  keep_plain(r, shard);
  return true;
}

// After the step of a row without a page: a leader that has a configuration to propose asks for a
// page in its next turn, and is turned again where it gets none.
template <typename Service>
GCOORD_HD void want_page(const RowTurn<Service>& r,
                         consensus::ShardRef shard,
                         const consensus::StepInput& input) {
  if constexpr (Service::kReadmits) {
    consensus::Hot& hot = shard.hot();
    if (hot.role == consensus::Role::Leader && consensus::lives_can_end(input) &&
        consensus::wants_readmission(shard)) {
      r.owe(kTurnPageWanted);
      hot.deadline = min_id(hot.deadline, input.tick + input.timing.resend_ticks);
    }
  }
}

// The same for any row.
template <typename Service>
GCOORD_HD_APART void turn_whole(const RowTurn<Service> r,
                                std::uint32_t credit,
                                std::uint32_t offers) {
  TurnRowArrays<kVotersOf<Service>>& arrays = in_shared(r.desk.arrays[r.place]);
  consensus::Hot hot;
  consensus::Log log;
  consensus::Storage storage;
  consensus::Election election;
  const consensus::RowParts parts{
      hot, log, arrays.runs, storage, election, arrays.configuration, arrays.progress};
  const consensus::ShardRef shard =
      consensus::ref_of(parts, shard_of_row(r.row), kVotersOf<Service>);
  const std::uint32_t wide_place =
      consensus::load_row<kMoreOf<Service>>(r.node.table, r.row, shard);
  const consensus::Role before = hot.role;
  const LogIndex applied_before = log.applied;
  const std::uint64_t word_before = leader_word_of(shard, kVotersOf<Service>);
  const bool has_page = r.page != kNoLogPage;
  const std::uint32_t room = has_page ? page_room(r.node, log) : 0;
  const consensus::StepInput& input = in_shared(r.desk.input[credit]);
  HeldVotes held;
  if (!has_page) {
    GCOORD_ASSERT(log.last == log.floor);
    held = hold_votes(shard);
  }
  consensus::InboxHead in;
  consensus::Configuration configuration;
  fill_inbox(r, shard, offers, in);
  ask_read(r, in);
  take_configuration(r, shard, input, room, in, configuration);
  const StagedMessages<Service, RowPage::MayLack> messages{r, log, log.last + room};
  consensus::OutboxHead out;
  consensus::step_with(shard, in, messages, out, arrays_of(r, configuration), input);
  GCOORD_ASSERT(log.last - log.floor <= (has_page ? r.node.shape.log_slots : 0));
  if (!has_page) {
    want_page(r, shard, input);
  }
  if constexpr (Service::kTellsHost) {
    tell_leader(r, word_before, shard);
  }
  store_snapshot(r, out);
  store_proposed(r, out, configuration);
  store_own(r, shard, out);
  save_snapshot(r, shard);
  drain_outbox(r, shard, in, out);
  tell_read(ReadStep<Service>{r, in, out}, shard);
  if constexpr (Service::kReadmits) {
    const bool next = may_propose_next(shard, in, applied_before);
    r.desk.again[r.place] = next ? std::uint8_t{1} : r.desk.again[r.place];
  }
  if (!has_page && return_votes(r, shard, held)) {
    r.desk.again[r.place] = 1;
  }
  count_row(r, before, hot, out);
  if (!store_turned(r.node, r.row, wide_place, shard)) {
    relaxed_add(r.desk.tally.exhausted, 1);
  }
}

// The turn of the row in a place, if it is `meant`; `leads` as it is in the table, which a kept row
// does not change; `credit` has a bit for each peer that takes
// messages. All members of a group call it: those whose rows need a whole step take it together.
template <typename Service>
GCOORD_HD_FLAT void turn_row(const StripeTurn<Service>& t,
                             std::uint32_t place,
                             bool meant,
                             bool leads,
                             std::uint32_t credit) {
  const RowTurn<Service> r{t.node,
                           t.desk,
                           t.scratch,
                           sink_for(t, meant ? place : 0),
                           place,
                           meant ? t.desk.row[place] : 0,
                           meant ? t.desk.page[place] : kNoLogPage};
  std::uint32_t offers = 0;
  bool left = meant;
  if (meant) {
    const std::uint32_t offered = t.desk.offered;
    const bool takes = leads && r.page != kNoLogPage;
    offers = !takes ? 0 : offered != 0 ? offered - 1 : offers_to(r);
    left = true;
    if constexpr (kHasFastPath<Service>) {
      left = t.place_count != 1 || !turn_plain(r, credit, offers);
    }
  }
  if (warp_ballot(left) == 0) {
    return;
  }
  if (left && t.desk.kept.row == r.row) {
    put_back(t.node, t.desk);
  }
  if (left) {
    turn_whole<Service>(r, credit, offers);
  }
}

// Whether a row begins as one whose node has forgotten what it promised
// (consensus/step/readmission.h).
enum class RowMemory : std::uint8_t { Whole, Forgotten };

// The row as an empty replica whose voters are all nodes, which every node of a cluster starts
// with.
template <typename Service>
GCOORD_HD void start_row(const TurnNode<Service>& node,
                         std::uint32_t row,
                         RowMemory memory = RowMemory::Whole) {
  consensus::RecoveredShard recovered;
  recovered.forgetful = memory == RowMemory::Forgotten;
  recovered.configuration.voters = (1u << kVotersOf<Service>)-1;
  for (std::uint32_t slot = 0; slot < kVotersOf<Service>; ++slot) {
    recovered.configuration.node[slot] = NodeId{slot + 1};
    recovered.configuration.weight[slot] = 1;
  }
  consensus::RowCopy copy;
  const consensus::ShardRef shard = consensus::ref_of(copy, shard_of_row(row), kVotersOf<Service>);
  consensus::recover(shard, recovered, node.self);
  GCOORD_ASSERT(store_turned(node, row, consensus::kNotWide, shard));
}

}  // namespace gcoord::server
