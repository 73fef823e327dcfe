// Reading a log of record back, and judging what damage means.
//
// Three outcomes. Clean: every byte is accounted for. TornTail: the end holds records that were
// never synced, so nobody was told of them; they are cut away, durably. Rot: a record that was
// synced is damaged or gone; nothing is cut. The rule is stated in wal_format.h. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/base/lsn.h"
#include "ledger/disk/disk.h"
#include "ledger/wal/options.h"
#include "ledger/wal/segment.h"
#include "ledger/wal/visitor.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::ledger {

enum class WalOutcome : std::uint8_t { Clean, TornTail, Rot };

// What recovery found. Sizes in bytes, offsets from the start of the segment file.
struct WalRecovery {
  WalOutcome outcome = WalOutcome::Clean;
  std::uint64_t record_count = 0;    // Intact records, replayed or covered by the checkpoint.
  std::uint64_t replayed_count = 0;  // Of these, given to the visitor.
  Lsn last_lsn;                      // Of the last intact record.
  // Harmless damage that was repaired: identifiers, marks, bytes after the end of a full segment.
  std::uint64_t repaired_count = 0;
  // The faulty or cut range; lsn 0 when the outcome is Clean. For Rot the records lsn_first to
  // lsn_last are not all readable; lsn_last is at least the last one known to have been synced.
  std::string segment_name;
  std::uint64_t offset = 0;
  Lsn lsn_first;
  Lsn lsn_last;
  // Shards named by intact parts of the first damaged record; the record may concern others too.
  std::vector<ShardId> shards;
};

// A log as recovery left it: consistent, durable, ready to append.
struct RecoveredLog {
  std::deque<OldSegment> older;
  std::unique_ptr<WalSegment> tail;
  Lsn last_lsn;
  std::uint32_t chain_crc = 0;  // Header checksum of the last record.
};

// Reads the whole log, replays it, cuts a torn tail and repairs identifiers; nothing when the
// directory holds no segment. On failure no record is cut.
Result<std::optional<RecoveredLog>> recover_wal(Disk& disk,
                                                const WalOptions& options,
                                                WalVisitor& replay,
                                                WalRecovery& report);

}  // namespace gcoord::ledger
