// Environment of a node's publication (publication.h): trees, a store for the cluster log, a
// signer, the log of shard 0, the other nodes, and notifications.
//
// A real node implements it in publication_node.h, tests in memory. Calls come from the one thread
// that drives the publication; none of them calls back into it.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/message.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/cluster_horizon.h"
#include "ledger/notes/shard_head.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::server {

// A cluster log that a majority vouches for.
struct PublishedLog {
  std::uint64_t size = 0;
  ledger::MerkleHash root{};
  std::map<NodeId, LedgerSignature> signatures;
};

// A replica's history that is not the majority's.
struct HistoryAlarm {
  NodeId node;  // Whose history it is; 0: no majority has one, so it cannot be said whose.
  ShardId shard;
  std::uint64_t size = 0;               // Entries of the tree whose root differs.
  std::uint64_t index = kIndexUnknown;  // Of the first entry that differs.
  // It cannot be read, or no other node has shown a difference: nothing is repaired.
  bool unconfirmed = false;
};

class PublicationPort {
 public:
  virtual ~PublicationPort() = default;

  // The time by now, of which advance() is told the beginning of its call: to measure by.
  virtual std::uint64_t now_ms() const = 0;

  // May be lost.
  virtual void send(NodeId to, std::vector<std::byte> message) = 0;

  // Proposes a publication entry for shard 0. May be lost.
  virtual void propose(std::vector<std::byte> entry) = 0;

  // This node's tree of a shard.
  virtual std::shared_ptr<const ledger::TreeReader> tree(ShardId shard) = 0;

  // The present heads of these shards' trees, in their order, without a look at the disk; size 0:
  // there is none. They may be a moment ahead of what tree() has. Failures are final.
  virtual Result<std::vector<ledger::ShardHead>> heads(std::span<const ShardId> shards) = 0;

  // The heads of these shards' trees at the sizes that they are named with, in their order, as far
  // as memory has them; size 0: it does not. Their roots show what is equal; a difference is for
  // tree() to show. Failures are final. Unless a node does better: of trees that have not grown
  // since.
  virtual Result<std::vector<ledger::ShardHead>> heads_at(
      std::span<const ledger::ShardHead> named) {
    std::vector<ShardId> shards;
    for (const ledger::ShardHead& each : named) {
      shards.push_back(each.shard);
    }
    auto present = heads(shards);
    for (std::size_t k = 0; present.ok() && k < named.size(); ++k) {
      ledger::ShardHead& own = present.value()[k];
      own.size = own.size == named[k].size ? own.size : 0;
    }
    return present;
  }

  // The cluster log as far as this node keeps it.
  virtual const ledger::TreeReader& cluster_log() const = 0;
  virtual Status append_leaves(std::span<const ledger::ShardHead> leaves) = 0;

  // Lets go of leaves below `wanted`, or of fewer; how many. The log stays able to prove the rest.
  // A node that has signed something below never signs again what does not begin with what is let
  // go of; if that is another log than it signed (kSignerContradiction), nothing goes.
  virtual Result<std::uint64_t> prune_leaves(std::uint64_t wanted) = 0;
  // Where the log begins here, and the log anew from where another node's does (cluster_log.h).
  virtual ledger::ClusterHorizon horizon() const = 0;
  virtual Status begin_log_at(const ledger::ClusterHorizon& horizon) = 0;

  // Makes the cluster log, and then {size, root}, durable and signs. FailedPrecondition
  // (kSignerBehind) and DataLoss (kSignerContradiction): this node does not vouch for it. Anything
  // else: the disk failed, and the node stops.
  virtual Result<LedgerSignature> sign(std::uint64_t size, const ledger::MerkleHash& root) = 0;

  // Whether the signature is the node's, by its key in the log.
  virtual bool genuine(NodeId node, const SignatureMessage& message) = 0;

  virtual void on_published(const PublishedLog& log) = 0;

  // This node refuses to sign, for this reason; Ok: it does no longer.
  virtual void on_refusal(const Status& why) = 0;

  virtual void on_alarm(const HistoryAlarm& alarm) = 0;

  // This node's replicas of these shards have another history than the majority: they must neither
  // vote nor count, and be repaired.
  virtual void quarantine(std::span<const HistoryAlarm> shards) = 0;

  // The publication cannot go on: the node stops.
  virtual void on_failure(const Status& why) = 0;
};

}  // namespace gcoord::server
