#include "consensus/scenario/fake_storage.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::consensus::scenario {

FakeStorage::FakeStorage(const Configuration& configuration) {
  durable_.checkpoint.configuration = configuration;
}

void FakeStorage::begin(const StorageRequest& request,
                        std::vector<TermEntry> entries,
                        std::optional<Snapshot> snapshot) {
  GCOORD_ASSERT(!pending_.has_value());
  GCOORD_ASSERT((request.snapshot != 0) == snapshot.has_value());
  pending_ = Pending{request, std::move(entries), std::move(snapshot)};
}

StorageAck FakeStorage::finish() {
  GCOORD_ASSERT(pending_.has_value());
  const Pending done = *std::exchange(pending_, std::nullopt);
  durable_.term = done.request.term;
  durable_.vote = done.request.vote;
  durable_.commit = max_id(durable_.commit, done.request.commit);
  if (done.snapshot.has_value()) {
    durable_.checkpoint = *done.snapshot;
    durable_.entries.clear();
  }
  replace_from(done.request.first, done.entries);
  return StorageAck{done.request.term, done.request.vote, 1};
}

void FakeStorage::set_checkpoint(const Snapshot& checkpoint) {
  const LogIndex base = durable_.checkpoint.state.applied;
  if (checkpoint.state.applied <= base) {
    return;
  }
  const std::uint64_t covered = checkpoint.state.applied - base;
  auto& entries = durable_.entries;
  const auto gone = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(covered, entries.size()));
  entries.erase(entries.begin(), entries.begin() + gone);
  durable_.checkpoint = checkpoint;
}

void FakeStorage::replace_from(LogIndex first, const std::vector<TermEntry>& entries) {
  const LogIndex base = durable_.checkpoint.state.applied;
  const LogIndex kept = max_id(first, base + 1) - 1;
  if (kept < durable_.last()) {
    durable_.entries.resize(kept - base);
  }
  LogIndex index = first;
  for (const TermEntry& entry : entries) {
    if (index > base) {  // A checkpoint that came meanwhile covers the rest.
      GCOORD_ASSERT(index == durable_.last() + 1);
      durable_.entries.push_back(entry);
    }
    ++index;
  }
}

}  // namespace gcoord::consensus::scenario
