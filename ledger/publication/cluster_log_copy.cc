#include "ledger/publication/cluster_log_copy.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kFetchAgainMs = 100;

}  // namespace

Status ClusterLogCopy::start() {
  const ledger::TreeReader& log = base_.log();
  const std::uint64_t oldest = log.size() > kScannedMax ? log.size() - kScannedMax : 0;
  for (std::uint64_t at = std::max(log.first(), oldest); at < log.size();) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kLeavesAtOnce, log.size() - at));
    GCOORD_TRY(const auto entries, log.entries(at, count));
    for (const auto& entry : entries) {
      GCOORD_TRY(const ledger::ShardHead head, ledger::decode_head(entry));
      base_.heads.on_leaf(at++, head);
    }
  }
  base_.counters.size.set(static_cast<std::int64_t>(log.size()));
  return Status{};
}

bool ClusterLogCopy::append(std::span<const ledger::ShardHead> leaves) {
  std::uint64_t index = base_.log().size();
  if (const Status status = base_.port.append_leaves(leaves); !status.ok()) {
    base_.fail(status);
    return false;
  }
  for (const ledger::ShardHead& head : leaves) {
    base_.heads.on_leaf(index++, head);
  }
  GCOORD_ASSERT(base_.log().size() == index);
  base_.counters.size.set(static_cast<std::int64_t>(index));
  if (!base_.publisher) {
    base_.news_ms = base_.heads.changed_count() == 0 ? 0 : base_.now_ms;
  }
  fetch_ms_ = 0;
  horizons_heard_ = 0;
  return true;
}

void ClusterLogCopy::advance() {
  if (base_.log().size() < base_.state.size()) {
    fetch();
  } else {
    fetch_ms_ = 0;
  }
  trust();
}

// What is kept here is held against the order before anything else is held against it: a cluster
// log that rotted must not accuse a shard.
void ClusterLogCopy::trust() {
  if (base_.state.size() <= trusted_ || base_.log().size() < base_.state.size()) {
    return;
  }
  const auto root = ledger::root_at(base_.log(), base_.state.size());
  if (!root.ok()) {
    return base_.fail(root.status());
  }
  if (root.value() != base_.state.root()) {
    return base_.fail(Status{StatusCode::DataLoss,
                             "this node's copy of the cluster log differs from the ordered one" +
                                 std::string(ledger::kRotAdvice),
                             ledger::kClusterLogRot});
  }
  trusted_ = base_.state.size();
}

void ClusterLogCopy::fetch() {
  if (base_.members.nodes.size() < 2 ||
      (fetch_ms_ != 0 && base_.now_ms < fetch_ms_ + kFetchAgainMs)) {
    return;
  }
  fetch_ms_ = base_.now_ms;
  peer_ = (peer_ + 1) % base_.members.nodes.size();
  if (base_.members.nodes[peer_] == base_.options.self) {
    peer_ = (peer_ + 1) % base_.members.nodes.size();
  }
  base_.send(base_.members.nodes[peer_], LeavesQuery{base_.log().size(), base_.state.size()});
}

bool ClusterLogCopy::on(NodeId from, const LeavesQuery& message) {
  const ledger::TreeReader& log = base_.log();
  if (message.target > log.size()) {
    return true;  // Not here yet; another node is asked next.
  }
  if (message.from < log.first()) {
    send_horizon(from, message.target);
    return true;
  }
  LeavesMessage answer{.from = message.from, .target = message.target, .proof = {}, .leaves = {}};
  while (answer.leaves.size() < kLeavesPerAnswer) {
    const std::uint64_t at = answer.from + answer.leaves.size();
    const std::uint64_t rest =
        std::min<std::uint64_t>(message.target - at, kLeavesPerAnswer - answer.leaves.size());
    const auto entries =
        log.entries(at, static_cast<std::size_t>(std::min<std::uint64_t>(rest, kLeavesAtOnce)));
    if (rest == 0 || !entries.ok()) {
      break;
    }
    for (const auto& entry : entries.value()) {
      const auto head = ledger::decode_head(entry);
      if (!head.ok()) {
        return true;
      }
      answer.leaves.push_back(head.value());
    }
  }
  auto proof = ledger::consistency_proof(log, answer.from + answer.leaves.size(), answer.target);
  if (!answer.leaves.empty() && proof.ok()) {
    answer.proof = std::move(proof).value();
    base_.send(from, answer);
  }
  return true;
}

bool ClusterLogCopy::on(const LeavesMessage& message) {
  const ledger::TreeReader& log = base_.log();
  if (message.from != log.size() || message.target != base_.state.size()) {
    return true;  // Asked for before something else brought them.
  }
  auto frontier = ledger::frontier_at(log, message.from);
  if (!frontier.ok()) {
    base_.fail(frontier.status());
    return true;
  }
  for (const ledger::ShardHead& head : message.leaves) {
    ledger::append_leaf(frontier.value(), ledger::hash_leaf(ledger::encode_head(head)));
  }
  const Status proved = ledger::verify_consistency({.old_size = frontier.value().size,
                                                    .size = base_.state.size(),
                                                    .old_root = ledger::root_of(frontier.value()),
                                                    .root = base_.state.root()},
                                                   message.proof);
  if (!proved.ok()) {
    base_.counters.leaves_refused.add();
    return false;
  }
  base_.counters.leaves_fetched.add(message.leaves.size());
  if (append(message.leaves)) {
    trusted_ = std::max(trusted_, message.from + message.leaves.size());
  }
  return true;
}

// To a node that asks for leaves from below where this log begins.
void ClusterLogCopy::send_horizon(NodeId to, std::uint64_t target) {
  BeginMessage answer{.target = target, .horizon = base_.port.horizon(), .proof = {}};
  auto proof = ledger::consistency_proof(base_.log(), answer.horizon.first, target);
  if (target > answer.horizon.first && proof.ok() && begin_fits(answer.horizon)) {
    answer.proof = std::move(proof).value();
    base_.send(to, answer);
  }
}

bool ClusterLogCopy::on(const BeginMessage& message) {
  const ledger::TreeReader& log = base_.log();
  if (message.horizon.first <= log.size() || message.target != base_.state.size()) {
    return true;  // Leaves came meanwhile, or more was ordered.
  }
  const ledger::MerkleFrontier frontier = ledger::frontier_of(message.horizon);
  const Status proved = ledger::verify_consistency({.old_size = frontier.size,
                                                    .size = base_.state.size(),
                                                    .old_root = ledger::root_of(frontier),
                                                    .root = base_.state.root()},
                                                   message.proof);
  if (!proved.ok()) {
    base_.counters.leaves_refused.add();
    return false;
  }
  // One that keeps more may answer yet: each of the others is asked first.
  if (++horizons_heard_ + 1 < base_.members.nodes.size()) {
    return true;
  }
  const std::uint64_t signed_size =
      signing_.signed_size() != 0 ? signing_.signed_size() : base_.options.signed_size;
  if (signed_size != 0) {
    signing_.refuse(Status{StatusCode::FailedPrecondition,
                           "this node has signed a cluster log of " + std::to_string(signed_size) +
                               " leaves, and the others keep theirs from leaf " +
                               std::to_string(frontier.size) +
                               " on: what was signed can no longer be compared",
                           ledger::kSignerHorizon});
    return true;
  }
  begin_at(message.horizon);
  return true;
}

void ClusterLogCopy::begin_at(const ledger::ClusterHorizon& horizon) {
  if (const Status status = base_.port.begin_log_at(horizon); !status.ok()) {
    return base_.fail(status);
  }
  if (base_.log().size() != horizon.first) {
    return;  // Not one that fits here.
  }
  base_.counters.size.set(static_cast<std::int64_t>(horizon.first));
  trusted_ = horizon.first;
  audit_.begin_at(horizon.first);
  horizons_heard_ = 0;
  fetch_ms_ = 0;
}

}  // namespace gcoord::server
