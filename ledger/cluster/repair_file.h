// List of shards whose history a node must fetch from the other nodes again, because its own copy
// is wrong.
//
// One file, `repair`: magic u64, count u32, per shard {shard u32, index u64: of the first entry
// that differs, all ones if that is not known}, CRC32C u32; little-endian, never to be renumbered.
// It is durable before the replicas are given up, and is removed when they are voters again and a
// checkpoint holds them; a start in between begins the repair anew. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/disk.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::ledger {

struct RepairedShard {
  ShardId shard;
  std::uint64_t index = 0;

  friend bool operator==(const RepairedShard& a, const RepairedShard& b) = default;
};

// Empty if there is no file. DataLoss (kHistoryRepair) if it is damaged: then nobody knows which
// shards it named, and the node must not vote in any.
Result<std::vector<RepairedShard>> read_repair_file(Disk& disk);

// Adds shards to those that are in the file. Durable when it returns ok.
Status add_to_repair_file(Disk& disk, std::span<const RepairedShard> shards);

// Durable when it returns ok; also if there is no file.
Status remove_repair_file(Disk& disk);

}  // namespace gcoord::ledger
