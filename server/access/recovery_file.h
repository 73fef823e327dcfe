// Marker of gcoordd --auth-recover in the data directory of a node (recovery.h).
//
// One file, `auth-recover`: magic u64, cluster u64, node u32, number u64, time u64 (Unix
// milliseconds), CRC32C u32; little-endian, never to be renumbered. It counts for a day: a node
// that was forgotten must not decide anything years later. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/disk.h"
#include "server/access/recovery.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::server {

struct RecoveryMarker {
  ClusterId cluster;
  NodeId node;
  std::uint64_t number = 0;  // Drawn at random; not 0.
  std::uint64_t time_ms = 0;

  friend bool operator==(const RecoveryMarker& a, const RecoveryMarker& b) = default;
};

inline constexpr std::uint64_t kRecoveryMarkerMs = 24u * 60 * 60 * 1000;

// Durable when it returns ok.
Status write_recovery_marker(ledger::Disk& disk, const RecoveryMarker& marker);

// Nothing if there is none, or it is damaged, more than a day older than own.time_ms, or not of the
// cluster and node of `own`: none of these is a reason not to start.
Result<std::optional<RecoveryMarker>> read_recovery_marker(ledger::Disk& disk,
                                                           const RecoveryMarker& own);

// The node's own marker, if it has one that counts; failures are none. `own`: as above.
OwnMarker own_marker(const std::string& data_dir, const RecoveryMarker& own);

// Durable when it returns ok; also if there is no file.
Status remove_recovery_marker(ledger::Disk& disk);

}  // namespace gcoord::server
