// A checkpoint store in memory, with the contract of checkpoint_store.h: the simulator's.
//
// The medium outlives the processes that open it. A batch is there wholly or not at all, as a
// synced batch of RocksDB is; a bit that flips in the medium is found by the checksums of the
// values. One thread.
#pragma once

#include "ledger/base/power_supply.h"
#include "ledger/checkpoint/checkpoint_store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace gcoord::ledger {

// What lies on the disk, and what the disk is told to do wrong.
struct CheckpointMedium {
  using Column = std::map<std::vector<std::byte>, std::vector<std::byte>>;

  std::array<Column, 3> columns;  // By CheckpointColumn; values behind their checksums.
  std::uint64_t covered_lsn = 0;
  bool writes_fail = false;
  bool full = false;
  // What feeds it, where that may go: each batch is one operation.
  std::shared_ptr<PowerSupply> power;

  // Flips one bit of one value of a shard, chosen by the number. False: there is none.
  bool flip_bit(std::uint64_t choice);
};

// The medium outlives the store.
std::unique_ptr<CheckpointStore> open_memory_checkpoint_store(CheckpointMedium& medium);

}  // namespace gcoord::ledger
