// Stable storage of one replica: what survives a loss of power, and one request under way.
//
// A request is copied when it is made, as "the log says now", so that a log that is cut and grows
// again while the request is under way shows whether anybody mistakes the old entries for the
// later ones. The object outlives the lives of its node. Host only.
#pragma once

#include "common/ids.h"
#include "consensus/scenario/entry.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"

#include <optional>
#include <vector>

namespace gcoord::consensus::scenario {

// What a process finds when it starts.
struct DurableState {
  Term term;
  NodeId vote;
  LogIndex commit;
  Snapshot checkpoint;
  std::vector<TermEntry> entries;  // checkpoint.state.applied + 1 and so on.

  LogIndex last() const { return checkpoint.state.applied + entries.size(); }

  // Whether the entry at `index` is here, in a checkpoint or by itself.
  bool covers(LogIndex index) const { return index <= last(); }
};

class FakeStorage {
 public:
  // The very first content: an empty log under a configuration.
  explicit FakeStorage(const Configuration& configuration);

  const DurableState& durable() const { return durable_; }

  bool under_way() const { return pending_.has_value(); }

  // Takes a request; asserts that none is under way. `entries` are request.first .. request.last;
  // `snapshot` is the one that was installed last if request.snapshot is set.
  void begin(const StorageRequest& request,
             std::vector<TermEntry> entries,
             std::optional<Snapshot> snapshot);

  // Makes the request under way durable and returns what to tell the step.
  StorageAck finish();

  // Loss of power: the request under way never happened.
  void forget() { pending_.reset(); }

  // A checkpoint is durable at once; entries that it covers go.
  void set_checkpoint(const Snapshot& checkpoint);

 private:
  struct Pending {
    StorageRequest request;
    std::vector<TermEntry> entries;
    std::optional<Snapshot> snapshot;
  };

  void replace_from(LogIndex first, const std::vector<TermEntry>& entries);

  DurableState durable_;
  std::optional<Pending> pending_;
};

}  // namespace gcoord::consensus::scenario
