// What the other nodes say to a publication. Nothing of it is trusted but what is proved: leaves by
// the ordered root, signatures by keys in the log.
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/publication/publication.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void Publication::send(NodeId to, const PublicationMessage& message) {
  port_.send(to, encode(message));
}

void Publication::send_all(const PublicationMessage& message) {
  for (const NodeId node : options_.nodes) {
    if (node != options_.self) {
      send(node, message);
    }
  }
}

void Publication::on_message(NodeId from, std::span<const std::byte> bytes, std::uint64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  auto message = decode_publication_message(bytes);
  const bool member = from != options_.self && std::ranges::binary_search(options_.nodes, from);
  const bool taken =
      message && member && std::visit([&](auto& each) { return on(from, each); }, *message);
  if (!taken) {
    counters_.dropped.add();
    return;
  }
  due_ms_ = 0;
}

bool Publication::on(NodeId from, PageMessage& message) {
  return review_.on_page(from, std::move(message), now_ms_);
}

bool Publication::on(NodeId from, const VerdictMessage& message) {
  // An answer to a round that has ended is no mistake of the other node.
  const bool late = message.batch <= batch_ && (!round_ || message.batch < batch_);
  return late || (round_ && round_->on_verdict(from, message));
}

bool Publication::on(NodeId from, const SignatureMessage& message) {
  if (message.size <= published_) {
    return true;
  }
  if (!port_.genuine(from, message)) {
    counters_.signatures_refused.add();
    return false;
  }
  signatures_.add(from, message);
  return true;
}

bool Publication::on(NodeId from, const LeavesQuery& message) {
  const ledger::TreeReader& log = port_.cluster_log();
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
        log.entries(at, static_cast<std::size_t>(std::min<std::uint64_t>(rest, 256)));
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
    send(from, answer);
  }
  return true;
}

bool Publication::on(NodeId, const LeavesMessage& message) {
  const ledger::TreeReader& log = port_.cluster_log();
  if (message.from != log.size() || message.target != state_.size()) {
    return true;  // Asked for before something else brought them.
  }
  auto frontier = ledger::frontier_at(log, message.from);
  if (!frontier.ok()) {
    fail(frontier.status());
    return true;
  }
  for (const ledger::ShardHead& head : message.leaves) {
    ledger::append_leaf(frontier.value(), ledger::hash_leaf(ledger::encode_head(head)));
  }
  const Status proved = ledger::verify_consistency({.old_size = frontier.value().size,
                                                    .size = state_.size(),
                                                    .old_root = ledger::root_of(frontier.value()),
                                                    .root = state_.root()},
                                                   message.proof);
  if (!proved.ok()) {
    counters_.leaves_refused.add();
    return false;
  }
  counters_.leaves_fetched.add(message.leaves.size());
  if (append(message.leaves)) {
    trusted_ = std::max(trusted_, message.from + message.leaves.size());
  }
  return true;
}

bool Publication::on(NodeId from, const HashQuery& message) {
  if (message.shard.value >= options_.shard_count) {
    return false;
  }
  const auto tree = port_.tree(message.shard);
  if (tree == nullptr) {
    return true;
  }
  auto hashes = tree->hashes(message.range.level, message.range.index, message.range.count);
  if (hashes.ok()) {
    send(from, HashMessage{message.shard, message.range, std::move(hashes).value()});
  }
  return true;
}

bool Publication::on(NodeId, const HashMessage& message) {
  // One that comes late is no mistake.
  hunt_.on_answer(message, now_ms_);
  return true;
}

bool Publication::on(NodeId from, const KeyMessage& message) {
  announced_[from] = message.key;
  return true;
}

bool Publication::on(NodeId from, const AlarmMessage& message) {
  if (message.shard.value >= options_.shard_count) {
    return false;
  }
  port_.on_alarm({.node = from, .shard = message.shard, .index = message.index});
  return true;
}

}  // namespace gcoord::server
