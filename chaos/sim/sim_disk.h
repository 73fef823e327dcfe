// One node's stable storage for all its shards: it keeps what was synced and forgets the rest.
//
// A write is one StorageRequest with its entries, whole or not at all (the WAL's records are
// checksummed). It is durable once its sync has ended; when power is lost before that, it may have
// reached the disk or not, unacknowledged.
#pragma once

#include "chaos/random/sim_random.h"
#include "chaos/sim/sim_entry.h"
#include "consensus/step/outbox.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::chaos {

// What survives: hard state, a checkpoint of the service, and the entries behind it.
struct SimDurable {
  Term term;
  NodeId vote;
  LogIndex commit;
  SimState checkpoint;
  std::vector<SimEntry> entries;  // entries[k] has index checkpoint.index + 1 + k.
};

struct SimWrite {
  std::uint32_t shard = 0;
  std::uint64_t due = 0;  // World time at which the sync ends.
  consensus::StorageRequest request;
  std::vector<SimEntry> entries;     // request.first .. request.last.
  std::optional<SimState> snapshot;  // Replaces everything up to its index first.
};

class SimDisk {
 public:
  explicit SimDisk(std::uint32_t shard_count) : shards_(shard_count) {}

  const SimDurable& durable(std::uint32_t shard) const { return shards_[shard]; }

  // First boot: the configuration that the cluster starts with.
  void format(std::uint32_t shard, const consensus::Configuration& configuration);

  void write(SimWrite write) { under_way_.push_back(std::move(write)); }

  // Finishes every write that is due and returns them in order of submission.
  std::vector<SimWrite> finish(std::uint64_t now);

  // A checkpoint of the service at `state`, durable at once; entries up to it go.
  void checkpoint(std::uint32_t shard, const SimState& state);

  // What was under way is gone, or made it just so.
  void lose_power(SimRandom& random);

 private:
  void drain_outbox(const SimWrite& write);

  std::vector<SimDurable> shards_;
  std::vector<SimWrite> under_way_;
};

}  // namespace gcoord::chaos
