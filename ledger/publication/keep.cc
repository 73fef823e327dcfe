// The beginning of the cluster log: what a node lets go of, and what it does when the others have
// let go of what it lacks.
#include "ledger/base/error_details.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/shard_head.h"
#include "ledger/publication/publication.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kKeepIntervalMs = 1000;
constexpr std::uint64_t kBytesPerLeaf = 48;  // On the disk; cluster_log.h.

// The first leaf that a policy keeps of a log that ends there.
std::uint64_t first_kept(const ledger::KeepPolicy& keep, std::uint64_t size) {
  std::uint64_t first = 0;
  for (const std::uint64_t leaves : {keep.entries, keep.bytes / kBytesPerLeaf}) {
    first = leaves != 0 && size > leaves ? std::max(first, size - leaves) : first;
  }
  return first;
}

}  // namespace

// Never what is needed: to be published yet, or as the newest published head of a shard. Whether
// this node has compared it, or signed it, does not count: one that never gets so far would keep
// everything. What goes uncompared is below a newer head of the same shard, and who compares that
// has compared all entries before it.
std::uint64_t Publication::prunable() const {
  return std::min(stale_.floor(), published_);
}

Result<std::uint64_t> Publication::prune(const ledger::KeepPolicy& keep, std::uint64_t below) {
  const std::uint64_t wanted = std::max(below, first_kept(keep, port_.cluster_log().size()));
  GCOORD_TRY(const std::uint64_t gone, port_.prune_leaves(std::min(wanted, prunable())));
  const std::uint64_t first = port_.cluster_log().first();
  if (compared_ < first) {
    counters_.heads_let_go.add(first - compared_);
    compared_ = first;
    skip_agreed();
  }
  return gone;
}

void Publication::keep() {
  if (const Status status = stale_.advance(port_.cluster_log(), heads_, published_); !status.ok()) {
    return fail(status);
  }
  if (options_.keep.keeps_all() || now_ms_ < keep_ms_) {
    return;
  }
  keep_ms_ = now_ms_ + kKeepIntervalMs;
  if (const auto gone = prune(options_.keep, 0); !gone.ok()) {
    fail(gone.status());
  }
}

// To a node that asks for leaves from below where this log begins.
void Publication::send_horizon(NodeId to, std::uint64_t target) {
  BeginMessage answer{.target = target, .horizon = port_.horizon(), .proof = {}};
  auto proof = ledger::consistency_proof(port_.cluster_log(), answer.horizon.first, target);
  if (target > answer.horizon.first && proof.ok() && begin_fits(answer.horizon)) {
    answer.proof = std::move(proof).value();
    send(to, answer);
  }
}

bool Publication::on(NodeId, const BeginMessage& message) {
  const ledger::TreeReader& log = port_.cluster_log();
  if (message.horizon.first <= log.size() || message.target != state_.size()) {
    return true;  // Leaves came meanwhile, or more was ordered.
  }
  const ledger::MerkleFrontier frontier = ledger::frontier_of(message.horizon);
  const Status proved = ledger::verify_consistency({.old_size = frontier.size,
                                                    .size = state_.size(),
                                                    .old_root = ledger::root_of(frontier),
                                                    .root = state_.root()},
                                                   message.proof);
  if (!proved.ok()) {
    counters_.leaves_refused.add();
    return false;
  }
  // One that keeps more may answer yet: each of the others is asked first.
  if (++horizons_heard_ < options_.nodes.size() - 1) {
    return true;
  }
  if (signed_ || options_.signed_size != 0) {
    refuse(Status{StatusCode::FailedPrecondition,
                  "this node has signed a cluster log of " +
                      std::to_string(signed_ ? signed_->size : options_.signed_size) +
                      " leaves, and the others keep theirs from leaf " +
                      std::to_string(frontier.size) +
                      " on: what was signed can no longer be compared",
                  ledger::kSignerHorizon});
    return true;
  }
  begin_log(message.horizon);
  return true;
}

void Publication::begin_log(const ledger::ClusterHorizon& horizon) {
  if (const Status status = port_.begin_log_at(horizon); !status.ok()) {
    return fail(status);
  }
  if (port_.cluster_log().size() != horizon.first) {
    return;  // Not one that fits here.
  }
  counters_.size.set(static_cast<std::int64_t>(horizon.first));
  trusted_ = horizon.first;
  compared_ = horizon.first;
  agreed_.clear();
  horizons_heard_ = 0;
  fetch_ms_ = 0;
}

}  // namespace gcoord::server
