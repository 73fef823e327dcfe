// Rules of a peer network for proofs: which links need them, and by which keys.
//
// Off: this node has no secret of the cluster and speaks as releases before it do. Required: no
// word of a node without a proof counts. Permissive is for the way from one to the other: a peer
// that has never proven itself may still speak without; one that has may not any more, because what
// comes under its id then is somebody else. Who has proven itself is known beyond this process if
// the owner keeps what `on_proven` says. One thread, but for ProofSource.
#pragma once

#include "common/ids.h"
#include "netcore/peers/dropped_stranger.h"
#include "netcore/proof/keys.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace gcoord::netcore {

enum class ProofDemand : std::uint8_t { Off, Permissive, Required };

// The keys and the demand of the moment, which any thread may change while a network runs.
class ProofSource {
 public:
  ProofSource(ProofKeys keys, ProofDemand demand) : keys_(std::move(keys)), demand_(demand) {}

  void set(ProofKeys keys, ProofDemand demand);

  // Rises with every set().
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  std::pair<ProofKeys, ProofDemand> current() const;

 private:
  mutable std::mutex mutex_;
  ProofKeys keys_;
  ProofDemand demand_;
  std::atomic<std::uint64_t> version_{1};  // Stored after the rest, under the mutex.
};

struct PeerProofOptions {
  ProofKeys keys;  // None: Off, whatever the demand says.
  ProofDemand demand = ProofDemand::Off;
  // In place of the two above when set; looked at with every progress() of the network.
  std::shared_ptr<const ProofSource> source;
  std::vector<NodeId> proven;  // Nodes that have proven themselves in earlier lives of this one.
  std::function<void(NodeId)> on_proven = {};  // The first time for each.
  // Hears of each link that was turned away before it was a peer's.
  std::function<void(const DroppedStranger&)> on_dropped = {};
};

class PeerProofs {
 public:
  explicit PeerProofs(PeerProofOptions options);

  void change(ProofKeys keys, ProofDemand demand);

  // Takes what the source has by now.
  void refresh();

  const ProofKeys& keys() const { return keys_; }

  ProofDemand demand() const { return demand_; }

  // Whether the peer may speak without a proof.
  bool allows_plain(NodeId peer) const;

  // The peer has proven itself.
  void note(NodeId peer);

  // A link was turned away.
  void report(const DroppedStranger& dropped) const {
    if (on_dropped_) {
      on_dropped_(dropped);
    }
  }

  // Nothing is known of the node any more: it has left for good.
  void forget(NodeId peer) { proven_.erase(peer); }

 private:
  ProofKeys keys_;
  ProofDemand demand_;
  std::set<NodeId> proven_;
  std::function<void(NodeId)> on_proven_;
  std::function<void(const DroppedStranger&)> on_dropped_;
  std::shared_ptr<const ProofSource> source_;
  std::uint64_t source_version_ = 0;
};

}  // namespace gcoord::netcore
