// Read interface of a node's ledger for readers from outside (ledger_endpoint.h).
//
// Everything here may be called by any thread at any time while the view lives, never waits for a
// turn, and answers from what is durable. What it says may be old by a moment, never wrong.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

class LedgerView {
 public:
  virtual ~LedgerView() = default;

  virtual std::uint32_t shard_count() const = 0;

  // The history of a shard; null if this node keeps none. shard < shard_count().
  virtual std::shared_ptr<const ledger::TreeReader> shard(ShardId shard) const = 0;

  // The log of shard heads (ledger/notes/shard_head.h); null if this node keeps none.
  virtual std::shared_ptr<const ledger::TreeReader> cluster_log() const = 0;

  // The newest checkpoint of the cluster log that a majority signed, as a signed note.
  // cluster_log() has its size at least. NotFound (ledger::kLedgerAbsent) before the first one.
  virtual Result<std::string> checkpoint() const = 0;

  // A note for the newest head of a shard that is under that checkpoint or one before it: signed by
  // this node when it is asked, with the line that leads to the cluster log
  // (ledger/notes/shard_note.h). shard() has its size at least. NotFound (ledger::kLedgerAbsent) if
  // no head is.
  virtual Result<std::string> shard_checkpoint(ShardId shard) const = 0;

  // Verifier keys (ledger/notes/note_key.h): this node's own first, then those of others it knows.
  virtual std::vector<std::string> keys() const = 0;
};

}  // namespace gcoord::server
