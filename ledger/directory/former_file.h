// The cluster whose place this directory's one took, beside the identity: `former`.
//
// Written once, with the directory, by whoever makes a cluster of the data of one that was lost
// (server/force/force.h): its nodes are told so when they come back. Works on any Disk; one thread
// at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/disk.h"

#include <cstdint>
#include <optional>

namespace gcoord::ledger {

inline constexpr const char* kFormerName = "former";

struct FormerCluster {
  ClusterId cluster;
  std::uint64_t time_ms = 0;  // Unix milliseconds when it was given up.

  friend bool operator==(const FormerCluster& a, const FormerCluster& b) = default;
};

// Nothing where the directory has no such file. Failures: DataLoss with kDirectoryIdentity for one
// that is damaged, the disk's own.
Result<std::optional<FormerCluster>> read_former(Disk& disk);

// Durable on return. Failures: the disk's own.
Status write_former(Disk& disk, const FormerCluster& former);

}  // namespace gcoord::ledger
