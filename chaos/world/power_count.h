// Losses of power that struck between two operations of a disk, by what they struck. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::chaos {

// The names are part of `--json`: never rename.
enum class PowerCount : std::uint8_t {
  OneNode,
  AllNodes,
  // The operation that did not happen any more, as ledger::DiskOperation.
  BeforeWrite,
  BeforeSync,
  BeforeDirectorySync,
  BeforeCheckpoint,
  BeforeHistory,
  InRecovery,      // Of the above: while the node recovered from the loss before.
  ShardsCompared,  // With what their nodes had said to be durable.
};

inline constexpr std::size_t kPowerCountCount = 9;

using PowerCounts = std::array<std::uint64_t, kPowerCountCount>;

inline constexpr std::array<const char*, kPowerCountCount> kPowerCountNames = {
    "one_node",
    "all_nodes",
    "before_write",
    "before_sync",
    "before_directory_sync",
    "before_checkpoint",
    "before_history",
    "in_recovery",
    "shards_compared"};

}  // namespace gcoord::chaos
