// Disk of a simulated machine: all state that survives its process. Copyable as files are: for
// disks that are replaced, or come back from the past. One thread.
#pragma once

#include "ledger/base/power_supply.h"
#include "ledger/checkpoint/memory_checkpoint_store.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/history/memory_store.h"
#include "server/interfaces/cluster_members.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::chaos {

struct WorldDisk {
  // Every operation of any part counts from now on; else the log's alone, on a supply of its own.
  void set_power(const std::shared_ptr<ledger::PowerSupply>& power) {
    identity.set_power(power);
    log.set_power(power);
    checkpoints.power = power;
    history.power = power;
  }

  ledger::MemoryDisk identity;
  ledger::MemoryDisk log;
  ledger::CheckpointMedium checkpoints;
  ledger::HistoryMedium history;
  // Who is in the cluster, as the node knew last; none before view 1. Replaced as a whole.
  std::optional<server::ClusterMembers> members;
  std::string rocksdb_directory;  // In place of `checkpoints` where not empty: a real store.

  // Who is in the cluster; epoch 0: it does not say.
  server::ClusterMembers kept_members() const { return members.value_or(server::ClusterMembers{}); }

  // What is readable now, on a disk without faults.
  std::unique_ptr<WorldDisk> copy() const;

  bool has_lost_power() const { return log.has_lost_power(); }

  void lose_power(std::uint64_t seed) {
    identity.lose_power(seed);
    log.lose_power(seed + 1);
  }

  void crash() {
    identity.crash();
    log.crash();
  }

  void fail_writes(bool fail) {
    log.fail_writes(fail);
    checkpoints.writes_fail = fail;
    history.writes_fail = fail;
  }

  // No room for anything more, or room again.
  void set_full(bool full);

  // Flips one bit of what was written, chosen by the number. False: there is nothing.
  bool flip_bit(std::uint64_t choice);
};

}  // namespace gcoord::chaos
