#include "netcore/peers/proofs.h"

#include <utility>

namespace gcoord::netcore {

void ProofSource::set(ProofKeys keys, ProofDemand demand) {
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  demand_ = demand;
  version_.fetch_add(1, std::memory_order_release);  // Pairs with version().
}

std::pair<ProofKeys, ProofDemand> ProofSource::current() const {
  const std::lock_guard lock(mutex_);
  return {keys_.clone(), demand_};
}

PeerProofs::PeerProofs(PeerProofOptions options)
    : demand_(ProofDemand::Off),
      proven_(options.proven.begin(), options.proven.end()),
      on_proven_(std::move(options.on_proven)),
      on_dropped_(std::move(options.on_dropped)),
      source_(std::move(options.source)) {
  change(std::move(options.keys), options.demand);
  refresh();
}

void PeerProofs::refresh() {
  if (source_ == nullptr || source_->version() == source_version_) {
    return;
  }
  source_version_ = source_->version();
  auto [keys, demand] = source_->current();
  change(std::move(keys), demand);
}

void PeerProofs::change(ProofKeys keys, ProofDemand demand) {
  keys_ = std::move(keys);
  demand_ = keys_.empty() ? ProofDemand::Off : demand;
}

bool PeerProofs::allows_plain(NodeId peer) const {
  return demand_ == ProofDemand::Off ||
         (demand_ == ProofDemand::Permissive && !proven_.contains(peer));
}

void PeerProofs::note(NodeId peer) {
  if (proven_.insert(peer).second && on_proven_) {
    on_proven_(peer);
  }
}

}  // namespace gcoord::netcore
