// Compaction limit of a shard's log, and the time when compaction is worthwhile.
//
// Entries that are applied live on in the service's state; the log keeps some for peers that lag a
// little, because entries are cheaper to send than a snapshot. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/liveness.h"
#include "consensus/step/shard_table.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace gcoord::server {

// Entries behind the applied index that a busy shard keeps; a checkpoint of a shard that was quiet
// since the last one keeps none.
inline constexpr std::uint64_t kEntriesKept = 64;
// Applied entries at which a busy shard is compacted without a checkpoint: four times what it
// keeps, so that compaction is rare.
inline constexpr std::uint64_t kEntriesHeldMax = 256;
// A live peer that lags further than this gets a snapshot: four windows of entries in flight.
inline constexpr std::uint64_t kLaggardEntriesMax = 4096;
// Entries that a leader keeps for a peer that is down and lacks no more than those. A snapshot is
// not only larger: the peer's history begins anew behind it, so watches that want what came before
// end there, and in the whole cluster once every node was away for a while. Few, as all idle shards
// may keep them.
inline constexpr std::uint64_t kAbsentEntriesMax = 16;

// Up to where the log may be forgotten if `kept` applied entries stay; LogIndex{0} if that is no
// news.
inline LogIndex compaction_target(consensus::ShardRef shard,
                                  std::span<const consensus::PeerLiveness> peers,
                                  std::uint64_t kept) {
  const consensus::Log& log = shard.log();
  if (log.applied - log.floor <= kept) {
    return LogIndex{0};
  }
  LogIndex target = log.applied - kept;
  const bool leads = shard.hot().role == consensus::Role::Leader;
  for (const consensus::PeerLiveness& peer : peers) {
    const std::uint8_t slot = consensus::slot_of(shard.configuration(), peer.node);
    if (!leads || slot >= shard.slot_count()) {
      continue;
    }
    const LogIndex match = shard.progress(slot).match;
    const std::uint64_t lag_max = peer.live != 0 ? kLaggardEntriesMax : kAbsentEntriesMax;
    const bool laggard = log.applied > match && log.applied - match > lag_max;
    target = laggard ? target : min_id(target, match);
  }
  return target > log.floor ? target : LogIndex{0};
}

// Whether a shard has grown enough to be compacted between checkpoints.
inline bool wants_compaction(const consensus::Log& log) {
  return log.applied - log.floor >= kEntriesHeldMax;
}

}  // namespace gcoord::server
