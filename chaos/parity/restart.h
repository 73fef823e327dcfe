// A replica's process ends and begins again: the row falls back to what stable storage has.
//
// What stable storage has is in the row itself: the durable term and vote, and the log up to the
// durable index, because nothing above it counts. A snapshot that is not acknowledged yet is taken
// as stored, with the hard state that was stored beside it: more may always be durable than was
// acknowledged. Entries up to the applied index count as decided. Pure; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/step/recover.h"

#include <cstdint>

namespace gcoord::chaos {

// `entry_count_max` bounds the log behind its floor.
GCOORD_HD inline void restart_row(consensus::ShardRef shard,
                                  NodeId self,
                                  std::uint32_t entry_count_max) {
  const consensus::Log log = shard.log();
  const consensus::LogRuns runs = shard.runs();
  const consensus::Storage storage = shard.storage();
  const bool snapshot_stored = storage.durable < log.floor;
  consensus::RecoveredShard recovered;
  recovered.term = snapshot_stored ? shard.hot().term : storage.durable_term;
  recovered.vote = snapshot_stored ? shard.hot().vote : storage.durable_vote;
  recovered.floor = log.floor;
  recovered.floor_term = log.floor_term;
  recovered.commit = log.applied;
  recovered.configuration = shard.configuration();
  consensus::recover(shard, recovered, self);
  const std::uint64_t entry_count = snapshot_stored ? 0 : storage.durable - log.floor;
  GCOORD_ASSERT(entry_count <= entry_count_max);
  for (std::uint64_t k = 1; k <= entry_count; ++k) {
    const LogIndex index = log.floor + k;
    const auto kind = index == log.configuration_pending ? consensus::EntryKind::Configuration
                                                         : consensus::EntryKind::Command;
    consensus::recover_entry(shard, consensus::term_at(log, runs, index), kind, recovered.commit);
  }
}

}  // namespace gcoord::chaos
