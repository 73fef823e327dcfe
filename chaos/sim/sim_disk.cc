#include "chaos/sim/sim_disk.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::chaos {

void SimDisk::format(std::uint32_t shard, const consensus::Configuration& configuration) {
  shards_[shard] = SimDurable{};
  shards_[shard].checkpoint.configuration = configuration;
}

void SimDisk::drain_outbox(const SimWrite& write) {
  SimDurable& durable = shards_[write.shard];
  durable.term = write.request.term;
  durable.vote = write.request.vote;
  if (write.snapshot && write.snapshot->index > durable.checkpoint.index) {
    durable.checkpoint = *write.snapshot;
    durable.entries.clear();
  }
  durable.commit = max_id(durable.commit, write.request.commit);
  const LogIndex base = durable.checkpoint.index;
  LogIndex index = write.request.first;
  if (index > base && index - base - 1 < durable.entries.size()) {
    durable.entries.resize(index - base - 1);
  }
  for (const SimEntry& entry : write.entries) {
    if (index > base) {
      GCOORD_ASSERT(index - base - 1 == durable.entries.size());
      durable.entries.push_back(entry);
    }
    ++index;
  }
}

std::vector<SimWrite> SimDisk::finish(std::uint64_t now) {
  std::vector<SimWrite> finished;
  std::vector<SimWrite> rest;
  for (SimWrite& write : under_way_) {
    if (write.due <= now) {
      drain_outbox(write);
      finished.push_back(std::move(write));
    } else {
      rest.push_back(std::move(write));
    }
  }
  under_way_ = std::move(rest);
  return finished;
}

void SimDisk::checkpoint(std::uint32_t shard, const SimState& state) {
  SimDurable& durable = shards_[shard];
  GCOORD_ASSERT(state.index >= durable.checkpoint.index);
  const auto gone =
      std::min<std::uint64_t>(state.index - durable.checkpoint.index, durable.entries.size());
  durable.entries.erase(durable.entries.begin(),
                        durable.entries.begin() + static_cast<std::ptrdiff_t>(gone));
  durable.checkpoint = state;
  durable.commit = max_id(durable.commit, state.index);
}

void SimDisk::lose_power(SimRandom& random) {
  for (const SimWrite& write : under_way_) {
    if (random.chance(500'000)) {
      drain_outbox(write);
    }
  }
  under_way_.clear();
}

}  // namespace gcoord::chaos
