// Takes from a node's files what a power loss would have taken: the writes since each file's last
// sync, and the changes of directories since theirs.
//
// For files that a node wrote under the shim (shim/undo_format.h) and that nobody has open now. Of
// what is not durable the seed decides what survives, as a disk may: nothing, or any subset of
// sectors and any prefix of a directory's changes. Blocking.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <filesystem>

namespace gcoord::chaos {

struct PowerLossOptions {
  std::filesystem::path disk;  // The node's directory.
  std::filesystem::path undo;  // What the shim remembered.
  std::uint64_t seed = 1;
};

struct PowerLoss {
  std::uint64_t files_changed = 0;
  std::uint64_t bytes_lost = 0;
  std::uint64_t bytes_kept = 0;  // Not durable, and survived by luck.
  std::uint64_t directory_changes_lost = 0;
};

// Afterwards everything in `disk` counts as durable.
Result<PowerLoss> lose_power(const PowerLossOptions& options);

// Makes `undo` ready for the shim; forgets what it held.
Status clear_undo(const std::filesystem::path& undo);

}  // namespace gcoord::chaos
