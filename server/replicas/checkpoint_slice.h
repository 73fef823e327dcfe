// Slice of a checkpoint: the values of some shards on their way to the store, and the memory to
// encode them. A shard's value names the durable lsn of the moment at which it was written. One
// thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/shard_table.h"
#include "ledger/base/lsn.h"
#include "ledger/checkpoint/checkpoint_batch.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/entry_log.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class CheckpointSlice {
 public:
  // Rows of one row map.
  struct Rows {
    const consensus::ShardColumns& columns;
    const EntryLog& log;
  };

  // It outlives the slice.
  explicit CheckpointSlice(StateMachine& service) : state_machine_(service) {}

  // Adds a shard that is at rest: exactly what the durable records say of it.
  void add(const Rows& rows, std::uint32_t row, ledger::Lsn durable);

  ledger::CheckpointBatch& batch() { return batch_; }

  const ledger::CheckpointBatch& batch() const { return batch_; }

  // Gives back the memory that it has grown to.
  void shrink() { batch_ = ledger::CheckpointBatch{}; }

 private:
  StateMachine& state_machine_;
  ledger::CheckpointBatch batch_;
  std::vector<std::byte> hard_;
  std::vector<std::byte> service_;
};

}  // namespace gcoord::server
