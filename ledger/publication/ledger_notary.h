// Published ledger state of a node and its signatures, for readers from outside.
//
// Keeps the newest checkpoint that a majority signed, as a note, and for each shard the newest head
// under it; signs checkpoints of shards when asked (ledger/notes/shard_note.h). One thread
// publishes, any thread asks.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/entry.h"
#include "ledger/heads/port.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/note_key.h"
#include "ledger/notes/shard_head.h"
#include "ledger/notes/shard_note.h"
#include "ledger/notes/signed_note.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::server {

class LedgerNotary {
 public:
  // Leaves below the first published log that are looked through for heads; shards that are not
  // among them have no checkpoint before they change.
  static constexpr std::uint64_t kScannedMax = std::uint64_t{4} << 20;

  // `log` outlives it.
  LedgerNotary(ClusterId cluster,
               std::uint32_t shard_count,
               ledger::NoteSigner signer,
               const ledger::TreeReader& log);

  const ledger::NoteKey& key() const { return signer_.key(); }

  // For what this node signs beside the ledger (server/evidence). Any thread's.
  const ledger::NoteSigner& signer() const { return signer_; }

  LedgerKey public_key() const;

  // The signature of this node's key under a cluster log.
  LedgerSignature sign(std::uint64_t size, const ledger::MerkleHash& root) const;

  // Whether `key` of a node made the signature.
  bool genuine(NodeId node, const LedgerKey& key, const SignatureMessage& message) const;

  // The publishing thread's.
  void set_keys(const std::map<NodeId, LedgerKey>& keys);
  Status publish(const PublishedLog& log);

  // Any thread's. NotFound (kLedgerAbsent) before there is one.
  Result<std::string> checkpoint() const;
  Result<ledger::ShardHead> head(ShardId shard) const;
  Result<std::string> shard_checkpoint(ShardId shard) const;
  std::vector<std::string> keys() const;

 private:
  // The newest head of a shard under the published log; the leaf's index plus one, 0: none.
  struct Place {
    std::uint64_t after_leaf = 0;
  };

  struct PlacedHead {
    ledger::ShardHead head;
    ledger::ClusterPosition place;
  };

  Result<PlacedHead> placed_head(ShardId shard) const;
  std::string text_of(std::uint64_t size, const ledger::MerkleHash& root) const;
  Status note_heads(std::uint64_t size);

  ClusterId cluster_;
  ledger::NoteSigner signer_;
  const ledger::TreeReader& log_;
  mutable std::mutex mutex_;  // Of everything below.
  std::map<NodeId, LedgerKey> known_keys_;
  std::uint64_t size_ = 0;
  std::string note_;
  std::vector<Place> places_;  // By shard.
};

}  // namespace gcoord::server
