// Snapshots of shards that went to peers and came from them in a turn, as one line of the node's
// log at level debug.
//
// A node that rejoins takes one of each of its shards, so the line has counts. One thread.
#pragma once

#include "server/platform/operator_log.h"
#include "server/replicas/metrics.h"

#include <cstdint>

namespace gcoord::server {

class SnapshotCounts {
 public:
  // The metrics outlive it.
  explicit SnapshotCounts(const ReplicaMetrics& metrics) : metrics_(metrics) {}

  // Once per turn: writes the line of what was counted since the last one, if there was anything.
  void tell() {
    if (log_enabled(LogComponent::Disk, LogLevel::Debug)) {
      write();
    }
  }

 private:
  void write();

  const ReplicaMetrics& metrics_;
  std::uint64_t sent_ = 0;
  std::uint64_t installed_ = 0;
};

}  // namespace gcoord::server
