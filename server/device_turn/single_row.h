// The turn of a row in a hurry: alone in its stripe's turn, kept unpacked, and replicating.
//
// Why: one command at a time is three turns of one row each, and on a device what such a turn costs
// is the code that it has to fetch: a jump to a line that is in no cache close by takes 85 to 270
// cycles, and the general turn, which takes 32 rows, makes some 200 of them (docs/adr/0071). So
// what such a turn needs stands here once more, side by side and without what it does not need. It
// composes the same functions; whatever is unusual is left to the general turn, before anything is
// changed. Host and device; all members of the group call every function with the same arguments
// where it does not say otherwise.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "server/device_turn/drain_outbox.h"
#include "server/device_turn/group_apply.h"
#include "server/device_turn/receive.h"
#include "server/device_turn/requests.h"
#include "server/device_turn/row.h"

#include <cstdint>

namespace gcoord::server {

// --- Intake

// Whether what a look at a peer's lane found is one whole message for a row of this stripe; then it
// lies in the lane's first slots on the desk, and `row` is its row. `partly`: the rest of it is
// still to come, and a look can hold all of it. Nothing is taken yet.
template <typename Service>
GCOORD_HD_FLAT bool finds_one_message(const StripeTurn<Service>& t,
                                      std::uint32_t p,
                                      const netcore::SlotTile& seen,
                                      std::uint32_t slots,
                                      std::uint32_t& row,
                                      bool& partly) {
  netcore::SlotTile tile = seen;
  tile.slot_count = slots;
  auto* words = reinterpret_cast<std::uint32_t*>(&t.desk.slots[p][0]);
  tile.for_each_word<kFewSlots>(
      [words](std::uint32_t slot, std::uint32_t word, std::uint32_t value) {
        words[slot * netcore::kSlotWords + word] = value;
      });
  warp_sync();
  const netcore::Slot& header = t.desk.slots[p][0];
  const std::uint64_t names = consensus::load_chunk(&header).word[0];
  const auto kind = static_cast<consensus::MessageKind>(names >> 32 & 0xffu);
  row = row_of_shard(ShardId{static_cast<std::uint32_t>(names)});
  const std::uint32_t whole = 1 + slots_behind(t, names);
  partly = (whole > slots) & (whole < kFewSlots) & (warp_lanes() >= kFewSlots);
  return (kind != consensus::MessageKind::Snapshot) & is_ours(t, p, header) & (whole == slots);
}

// Whether the first `count` slots that a look at the clients' ring found are commands for one row
// of this stripe, or the pieces of one, and sound; then they are the first of desk.request, and
// `row` is the row. Nothing is taken yet. Members judge a request each.
template <typename Service>
GCOORD_HD_FLAT bool finds_requests_of_one(const StripeTurn<Service>& t,
                                          const netcore::SlotTile& seen,
                                          std::uint32_t count,
                                          std::uint32_t& row) {
  netcore::SlotTile tile = seen;
  tile.slot_count = count;
  lay_requests(t, tile, 0);
  warp_sync();
  const ShardId shard{
      static_cast<std::uint32_t>(consensus::load_chunk(&t.desk.request[0]).word[0])};
  row = row_of_shard(shard);
  bool found = t.rows.has(row);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < count; ++k) {
    const consensus::MessageChunk front = consensus::load_chunk(&t.desk.request[k]);
    const std::uint64_t tag = front.word[1];
    const bool same = static_cast<std::uint32_t>(front.word[0]) == shard.value;
    found = found & same & (tag != 0) & (tag < kReadTag);
  }
  static_assert(kReadTag < kPassTag && kPassTag < kTransferTag && kTransferTag < kStoredTag);
  if (!found) {
    return false;
  }
  bool sound = true;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = warp_rank(); k < count; k += warp_lanes()) {
    sound = sound & (unsound(t, k) == 0);
  }
  return warp_ballot(!sound) == 0;
}

// The messages that were found so, one of each peer from which slots came. One member.
template <std::uint32_t kVoters>
GCOORD_HD_FLAT void open_inbox(StripeWorkspaceOf<kVoters>& desk,
                               const std::uint32_t (&slots)[kVoters - 1]) {
  static_assert(kVoters - 1 <= consensus::kInboxMessages);
  std::uint32_t count = 0;
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p + 1 < kVoters; ++p) {
    if (slots[p] != 0) {
      desk.arrived[0][count] = static_cast<std::uint8_t>(p * kTurnSlots);
      ++count;
    }
  }
  desk.arrived_count[0] = static_cast<std::uint8_t>(count);
}

// --- The step

// Copies the progress of the kept row to where a step may change it, or back.
template <typename Service>
GCOORD_HD_FLAT void copy_progress(const StripeTurn<Service>& t, bool back) {
  void* kept = t.desk.kept.progress;
  void* own = t.desk.arrays[0].progress;
  copy_words(back ? kept : own, back ? own : kept, sizeof(t.desk.kept.progress));
  warp_sync();
}

// What the kept row is told: messages, and what a leader is asked to take. Of all else that an
// inbox may say, open_place() has put nothing on the desk.
template <consensus::Role role, typename Service>
GCOORD_HD_FLAT void fill_inbox_kept(const RowTurn<Service>& r,
                                    const consensus::Log& log,
                                    LogIndex applied,
                                    std::uint32_t offers,
                                    consensus::InboxHead& head) {
  head.message_count = r.desk.arrived_count[0];
  head.applied = applied;
  head.compact_to = forgets_to(r, log, applied);
  if constexpr (role == consensus::Role::Leader) {
    head.proposal_count = proposals_to(r, log, offers);
  }
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
    r.stored()[p] = LogIndex{};
  }
}

// What follows the step of the kept row. A leader's client waits for what is decided, which was
// stored in an earlier turn; a follower's leader waits for its answer, so that leaves before the
// follower applies (carry_on_kept).
template <consensus::Role role, typename Service>
GCOORD_HD_FLAT void carry_out_kept(const RowTurn<Service>& r,
                                   consensus::ShardRef shard,
                                   const consensus::InboxHead& in,
                                   const consensus::OutboxHead& out) {
  const consensus::Hot& hot = shard.hot();
  bool again = out.again != 0;
  const bool staged = stages(r, out);
  if constexpr (role == consensus::Role::Leader) {
    if (!staged) {
      again = carry_on(r, shard, out.apply, false) || again;
    }
    store_new(r, hot, in, out);
  } else {
    store_arrived(r);
  }
  if constexpr (Service::kTellsHost) {
    if (staged) {
      again = !stage(r, shard, out.storage) || again;
      if constexpr (role == consensus::Role::Leader) {
        again = carry_on(r, shard, out.apply, true) || again;
      }
    }
  }
  if constexpr (role == consensus::Role::Leader) {
    again = again || is_offered(r, hot, shard.log());
  } else {
    r.desk.decided = out.apply;
    r.desk.staged = staged ? 1 : 0;
  }
  note_turned(r, hot, out, again);
  count_row(r, role, hot, out);
}

// The kept row by a steady step; false: it needs more than that, and nothing was done but that its
// service was asked what it offers. A leader's progress is in desk.arrays[0]; a steady follower
// only looks at its own. One member.
template <consensus::Role role, typename Service>
GCOORD_HD_FLAT bool step_kept(const RowTurn<Service>& r) {
  constexpr bool kLeads = role == consensus::Role::Leader;
  const LogIndex applied = r.node.applied[r.row];
  const std::uint32_t offers = kLeads ? offers_to(r) : 0;
  r.desk.offered = 1 + offers;
  if (applied.value == 0) {
    return false;  // As asks_whole().
  }
  consensus::Hot hot;
  consensus::Log log;
  consensus::LogRuns runs;
  consensus::Storage storage;
  consensus::Election election;
  consensus::Configuration configuration;
  auto& progress = kLeads ? r.desk.arrays[0].progress : r.desk.kept.progress;
  const consensus::RowParts parts{hot, log, runs, storage, election, configuration, progress};
  const consensus::ShardRef shard =
      consensus::ref_of(parts, shard_of_row(r.row), kVotersOf<Service>);
  consensus::StepInput input = r.desk.input[kCreditMasks<Service> - 1];
  input.peer_count = kPeersOf<Service>;
  input.peer = r.desk.peer[kCreditMasks<Service> - 1];
  copy_plain<kVotersOf<Service>, true, false>(kept_ref(r.desk.kept), shard);
  consensus::InboxHead in;
  fill_inbox_kept<role>(r, log, applied, offers, in);
  const StagedMessages<Service, RowPage::Has> messages{r, log, log.last + page_room(r.node, log)};
  consensus::OutboxHead out;
  if (!consensus::step_steady<role, kVotersOf<Service>>(
          shard, in, messages, out, arrays_of(r, configuration), input)) {
    return false;
  }
  GCOORD_ASSERT(log.last - log.floor <= r.node.shape.log_slots);
  carry_out_kept<role>(r, shard, in, out);
  copy_plain<kVotersOf<Service>, false, false>(shard, kept_ref(r.desk.kept));
  r.node.table.deadline[r.row] = hot.deadline;
  return true;
}

// The only place of the turn as one at work. Its row is plain, so it has a log page.
template <typename Service>
GCOORD_HD_FLAT RowTurn<Service> only_row(const StripeTurn<Service>& t) {
  return {t.node, t.desk, t.scratch, sink_alone(t), 0, t.desk.row[0], t.desk.page[0]};
}

// The same by the group, if the row in the only place of the turn is the one that is kept and leads
// as `leads` says. All its peers take messages.
template <typename Service>
GCOORD_HD_FLAT bool turn_kept(const StripeTurn<Service>& t, bool leads) {
  if (leads) {
    copy_progress(t, false);
  }
  std::uint32_t done = 0;
  if (warp_rank() == 0) {
    t.desk.page[0] = t.desk.kept.page;
    const RowTurn<Service> r = only_row(t);
    if (leads) {
      done = step_kept<consensus::Role::Leader>(r) ? 1 : 0;
    } else {
      done = step_kept<consensus::Role::Follower>(r) ? 1 : 0;
    }
  }
  done = warp_broadcast(done, 0);
  warp_sync();
  if (leads & (done != 0)) {
    copy_progress(t, true);
  }
  apply_left(t);
  return done != 0;
}

// What a follower's kept row does once it has answered: applies what is decided.
template <typename Service>
GCOORD_HD_FLAT void carry_on_kept(const StripeTurn<Service>& t) {
  if (warp_rank() == 0) {
    const RowTurn<Service> r = only_row(t);
    const bool left = carry_on(r, kept_ref(t.desk.kept), t.desk.decided, t.desk.staged != 0);
    t.desk.again[0] = left ? std::uint8_t{1} : t.desk.again[0];
  }
  warp_sync();
  apply_left(t);
}

}  // namespace gcoord::server
