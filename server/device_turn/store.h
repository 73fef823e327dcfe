// Storage requests of a row in durable mode to its host, and the host's durability reports.
//
// Storage is a peer (docs/internals/architecture.md): the step's StorageRequest leaves the device
// through the ring to the host, as one slot followed by the entries as they lie in the log page;
// the host writes what all rows asked for as one record of its log and acknowledges row by row,
// through the ring of requests. A row has one request under way, and emits votes and
// acknowledgements only when the answer has come: that is state of the row, which nothing here can
// break.
//
// A request says one term of entries and at most kStageMax of them, and a snapshot goes alone, with
// its configuration as an entry would have it: the row is told what was taken, as if it had asked
// for that, and asks for the rest next. One that finds no room is taken back, and the row asks
// again in its next turn. Host and device.
#pragma once

#include "common/device/aligned_copy.h"
#include "common/hd.h"
#include "consensus/step/log_runs.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// Entries of one request: with its header a quarter of what one turn of a stripe may tell.
inline constexpr std::uint32_t kStageMax = kTurnReplies / 4 - 1;

// TurnReply::detail of a Store: the number of entries that follow, and this bit for a snapshot,
// which one follows, too: its configuration.
inline constexpr std::uint32_t kStoreSnapshot = 1u << 31;

// --- Requests

// The last entry that is staged for a request without a snapshot: those of the first one's term.
GCOORD_HD inline LogIndex staged_last(consensus::ShardRef shard,
                                      const consensus::StorageRequest& request) {
  if (request.first > request.last) {
    return request.first - 1;
  }
  const Term term = consensus::term_at(shard.log(), shard.runs(), request.first);
  LogIndex last = request.first;
  GCOORD_UNROLL_BY(1)
  while (last < request.last && last - request.first + 1 < kStageMax &&
         consensus::term_at(shard.log(), shard.runs(), last + 1) == term) {
    last = last + 1;
  }
  return last;
}

// The slot before the entries: `index` is the first of them, or where a truncation begins, or the
// floor of a snapshot; word 0 the term of the entries, or of that floor; word 1 what is known to be
// decided; `leader` the vote.
GCOORD_HD inline TurnReply store_head(consensus::ShardRef shard,
                                      const consensus::StorageRequest& request,
                                      std::uint32_t count) {
  TurnReply head;
  head.shard = shard.shard();
  head.verdict = TurnVerdict::Store;
  head.detail = count;
  head.index = request.first;
  head.leader = request.vote;
  head.term = request.term;
  head.result.word[1] = request.commit.value;
  if (count != 0) {
    head.result.word[0] = consensus::term_at(shard.log(), shard.runs(), request.first).value;
  }
  return head;
}

// The row before emit_storage() asked.
GCOORD_HD inline void take_back(consensus::Storage& storage,
                                const consensus::StorageRequest& request) {
  storage.request_pending = 0;
  storage.snapshot_pending = request.snapshot;
  storage.persist_from = request.first;
  storage.pending_last = min_id(storage.pending_last, request.first - 1);
}

// A snapshot that took the row's place. False: no room, and the row has not asked.
template <typename RowTurn>
GCOORD_HD bool stage_snapshot(const RowTurn& r,
                              consensus::ShardRef shard,
                              const consensus::StorageRequest& request) {
  consensus::Storage& storage = shard.storage();
  const std::uint32_t at = reserve_replies(r, 2);
  if (at == kTurnReplies) {
    take_back(storage, request);
    return false;
  }
  TurnReply head = store_head(shard, request, 0);
  head.detail = kStoreSnapshot | 1u;
  head.index = shard.log().floor;
  head.result.word[0] = shard.log().floor_term.value;
  write_reply(r, at, head);
  const auto entry = r.node.service.configuration_entry(shard.configuration());
  static_assert(sizeof entry == netcore::kSlotBytes);
  store_aligned<alignof(netcore::Slot)>(&reply_slot(r, at + 1), entry);
  storage.pending_last = request.first - 1;
  storage.persist_from = request.first;
  return true;
}

// False: no room, and the row has not asked.
template <typename RowTurn>
GCOORD_HD bool stage(const RowTurn& r,
                     consensus::ShardRef shard,
                     const consensus::StorageRequest& request) {
  if (request.snapshot != 0) {
    return stage_snapshot(r, shard, request);
  }
  consensus::Storage& storage = shard.storage();
  const LogIndex last = staged_last(shard, request);
  const auto count = static_cast<std::uint32_t>(last - request.first + 1);
  const std::uint32_t at = reserve_replies(r, 1 + count);
  if (at == kTurnReplies) {
    take_back(storage, request);
    return false;
  }
  write_reply(r, at, store_head(shard, request, count));
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto& entry = r.entry(request.first + k);
    static_assert(sizeof entry == netcore::kSlotBytes);
    store_aligned<alignof(netcore::Slot)>(&reply_slot(r, at + 1 + k), entry);
  }
  storage.pending_last = last;
  storage.persist_from = last + 1;
  return true;
}

// --- Acknowledgements: TurnRequests with this tag, each of several rows.

inline constexpr std::uint64_t kStoredTag = ~std::uint64_t{0};
inline constexpr std::uint32_t kStoredAcks = 3;

// Two words for each: row and vote, term.
GCOORD_HD inline void put_stored(TurnRequest& request,
                                 std::uint32_t k,
                                 ShardId shard,
                                 const consensus::StorageAck& ack) {
  request.word[2 * k] = row_of_shard(shard) | static_cast<std::uint64_t>(ack.vote.value) << 32;
  request.word[2 * k + 1] = ack.term.value;
}

// An acknowledgement of nothing.
GCOORD_HD inline TurnRequest no_stored() {
  TurnRequest request;
  request.tag = kStoredTag;
  for (std::uint32_t k = 0; k < kStoredAcks; ++k) {
    request.word[2 * k] = kNoTurnPlace;
  }
  return request;
}

GCOORD_HD inline std::uint32_t stored_row(const TurnRequest& request, std::uint32_t k) {
  return static_cast<std::uint32_t>(request.word[2 * k]);
}

GCOORD_HD inline consensus::StorageAck stored_ack(const TurnRequest& request, std::uint32_t k) {
  return {Term{request.word[2 * k + 1]},
          NodeId{static_cast<std::uint32_t>(request.word[2 * k] >> 32)},
          1};
}

}  // namespace gcoord::server
