// Division of a node's slices among lanes: one lane for each turn thread
// (docs/internals/threads.md).
//
// Lanes take slices in turn, so a few shards of low numbers are divided, too. Plain values.
#pragma once

#include "consensus/step/row_map.h"
#include "server/replicas/options.h"
#include "server/replicas/recoveries.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class LaneMaps {
 public:
  // The slices that the options keep here, among as many lanes as they ask for turn threads: at
  // most one for each slice that holds a shard, and kTurnThreadsMax.
  explicit LaneMaps(const ReplicaOptions& options);

  // Lanes; 0: no slice that is kept holds a shard.
  std::uint32_t count() const { return count_; }

  // The rows of a lane.
  consensus::RowMap map(std::uint32_t lane) const;

  // The lane of each slice; 0 for one that nobody has.
  Recoveries::Deal deal() const;

 private:
  std::uint32_t shard_count_;
  bool all_;  // Every slice is kept.
  std::vector<std::uint8_t> slices_;
  std::uint32_t count_;
};

}  // namespace gcoord::server
