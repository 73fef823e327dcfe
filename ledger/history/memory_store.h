// A history store in memory, with the contract of history_store.h: the simulator's and the tests'.
//
// The medium outlives the processes that open it. A write is there wholly or not at all; a bit that
// flips in the medium is found by the checksums of what is there. One thread.
#pragma once

#include "ledger/base/power_supply.h"
#include "ledger/history/store.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::ledger {

// What lies on the disk, and what the disk is told to do wrong.
struct HistoryMedium {
  std::map<std::string, std::vector<std::byte>> values;
  bool writes_fail = false;
  bool full = false;
  // What feeds it, where that may go: each write is one operation.
  std::shared_ptr<PowerSupply> power;

  // Flips one bit of one value whose key begins with `prefix`. False: there is none.
  bool flip_bit(const std::string& prefix, std::uint64_t choice);
};

// The medium outlives the store.
std::unique_ptr<HistoryStore> open_memory_history_store(HistoryMedium& medium);

}  // namespace gcoord::ledger
