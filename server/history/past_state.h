// The locks of one shard as they were: its entries applied again, from the first one on, to tables
// of their own.
//
// Applying is deterministic and asks no clock (ends of sessions, waits and delays are entries too),
// so what comes of the first N entries is what every replica had at index N. An entry is a record
// or, in the log of a device, an entry of its form (device_commands.h). Nothing here touches the
// node's own tables: any one thread at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/merkle/tree_reader.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/lock_messages.h"
#include "server/history/device_commands.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class PastState {
 public:
  // `bytes_max`: of tables, beyond which advance() gives up.
  explicit PastState(std::uint64_t bytes_max = ~std::uint64_t{0});

  // Up to where it has come.
  LogIndex index() const { return index_; }

  // Applies up to `count` entries more, none behind `to` nor what history does not have yet.
  // OutOfRange (GC6320) when the shard's state does not come from its entries alone: its log begins
  // later (also when it is pruned meanwhile), or with a restored snapshot; ResourceExhausted
  // (GC6322) when the tables have outgrown their bytes; otherwise as TreeReader::entries.
  Status advance(const ledger::TreeReader& history, LogIndex to, std::uint64_t count);

  // As of index().
  std::optional<locks::HeldLock> get(NameHash name) const;
  // The shard that the lock had been moved to: this one's log knows nothing more of it.
  std::optional<ShardId> moved_to(NameHash name) const;
  protocol::CheckVerdict verdict(NameHash name, FencingToken token) const;

 private:
  Status apply(std::span<const std::byte> entry);

  std::uint64_t bytes_max_;
  locks::LockCpu locks_;
  DeviceCommands device_;                // Of leaves that are a device's.
  std::vector<locks::LockEvent> ended_;  // Kept warm.
  LogIndex index_;
};

}  // namespace gcoord::server
