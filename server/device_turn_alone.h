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

#include "common/hd.h"
#include "common/warp_device.h"
#include "server/device_turn_receive.h"
#include "server/device_turn_requests.h"
#include "server/device_turn_row.h"

#include <cstdint>

namespace gcoord::server {

// --- Intake

// Whether what a look at a peer's lane found is one whole message for a row of this stripe; then it
// lies in the lane's first slots on the desk, and `row` is its row. Nothing is taken yet.
template <typename Service>
GCOORD_HD_FLAT bool finds_one_message(const StripeTurn<Service>& t,
                                      std::uint32_t p,
                                      const netcore::SlotTile& seen,
                                      std::uint32_t slots,
                                      std::uint32_t& row) {
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
  row = static_cast<std::uint32_t>(names);
  return (kind != consensus::MessageKind::Snapshot) & is_ours(t, p, header) &
         (1 + slots_behind(t, names) == slots);
}

// Whether the first slot that a look at the clients' ring found is a command for a row of this
// stripe; then it is desk.request[0], and `row` is its row. Nothing is taken yet.
template <typename Service>
GCOORD_HD_FLAT bool finds_one_request(const StripeTurn<Service>& t,
                                      const netcore::SlotTile& seen,
                                      std::uint32_t& row) {
  netcore::SlotTile tile = seen;
  tile.slot_count = 1;
  lay_requests(t, tile, 0);
  warp_sync();
  const consensus::MessageChunk front = consensus::load_chunk(&t.desk.request[0]);
  const std::uint64_t tag = front.word[1];
  row = static_cast<std::uint32_t>(front.word[0]);
  return t.rows.has(row) & (tag != 0) & (tag != kStoredTag) & (tag != kTransferTag);
}

// The messages that were found so, one of each peer from which slots came. One member.
GCOORD_HD_FLAT void open_inbox(StripeDesk& desk, const std::uint32_t (&slots)[kTurnPeers]) {
  std::uint32_t count = 0;
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
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

// The kept row by a steady step, with its progress in desk.arrays[0]; false: it needs more than
// that, and nothing was done. One member.
template <typename Service>
GCOORD_HD_FLAT bool step_kept(const RowTurn<Service>& r, std::uint32_t offers) {
  if (asks_whole(r)) {
    return false;
  }
  consensus::Hot hot;
  consensus::Log log;
  consensus::LogRuns runs;
  consensus::Storage storage;
  consensus::Election election;
  consensus::Configuration configuration;
  const consensus::RowParts parts{
      hot, log, runs, storage, election, configuration, r.desk.arrays[0].progress};
  const consensus::ShardRef shard = consensus::ref_of(parts, ShardId{r.row}, kTurnNodes);
  consensus::StepInput input = r.desk.input[kCreditMasks - 1];
  input.peer_count = kTurnPeers;
  input.peer = r.desk.peer[kCreditMasks - 1];
  copy_plain<true, false>(kept_ref(r.desk.kept), shard);
  if (!step_within<consensus::StepScope::Steady>(r, shard, input, offers)) {
    return false;
  }
  copy_plain<false, false>(shard, kept_ref(r.desk.kept));
  r.node.table.deadline[r.row] = hot.deadline;
  return true;
}

// The same by the group, if the row in the only place of the turn is the one that is kept. All its
// peers take messages.
template <typename Service>
GCOORD_HD_FLAT bool turn_kept(const StripeTurn<Service>& t) {
  const std::uint32_t row = t.desk.row[0];
  copy_progress(t, false);
  std::uint32_t done = 0;
  if (warp_rank() == 0) {
    const RowTurn<Service> r{t.node, t.desk, t.scratch, sink_alone(t), 0, row};
    const bool leads = t.desk.kept.hot.role == consensus::Role::Leader;
    const std::uint32_t offers = leads ? offers_to(r) : 0;
    done = step_kept(r, offers) ? 1 : 0;
    t.desk.offered = 1 + offers;
  }
  done = warp_broadcast(done, 0);
  warp_sync();
  if (done != 0) {
    copy_progress(t, true);
  }
  return done != 0;
}

}  // namespace gcoord::server
