#include "ledger/publication/log_signing.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"

namespace gcoord::server {
namespace {

// Syncs of a signature are worth it so often; what is ordered in between is under the next one.
constexpr std::uint64_t kSignAgainMs = 50;

}  // namespace

void LogSigning::on_keys() {
  signatures_.clear();
  signed_.reset();
}

bool LogSigning::on(NodeId from, const SignatureMessage& message) {
  if (message.size <= published_.size) {
    return true;
  }
  if (!base_.port.genuine(from, message)) {
    base_.counters.signatures_refused.add();
    return false;
  }
  signatures_.add(from, message);
  return true;
}

void LogSigning::sign(bool whole) {
  const std::uint64_t size = base_.state.size();
  // A signature counts once the log has the key.
  const auto key = base_.state.keys().find(base_.options.self);
  const bool keyed = key != base_.state.keys().end() && key->second == base_.options.key;
  const bool done = (signed_ && signed_->size >= size) || refused_ == size;
  if (size == 0 || !keyed || !whole || done || base_.failed || base_.now_ms < sign_ms_) {
    return;
  }
  sign_ms_ = base_.now_ms + kSignAgainMs;
  const auto signature = base_.port.sign(size, base_.state.root());
  if (!signature.ok()) {
    refused_ = size;
    return refuse(signature.status());
  }
  refuse(Status{});
  base_.counters.signatures.add();
  signed_ = SignatureMessage{size, base_.state.root(), signature.value()};
  base_.times.signed_here(size, base_.port.now_ms());
  signatures_.add(base_.options.self, *signed_);
  base_.send_all(*signed_);
}

void LogSigning::refuse(const Status& why) {
  const bool belongs = why.ok() || why.detail() == ledger::kSignerBehind ||
                       why.detail() == ledger::kSignerContradiction ||
                       why.detail() == ledger::kSignerHorizon;
  if (!belongs) {
    return base_.fail(why);
  }
  if (why.detail() != refusal_.detail()) {
    refusal_ = why;
    base_.counters.signing.set(why.ok() ? 1 : 0);
    base_.port.on_refusal(why);
  }
}

void LogSigning::publish(std::uint64_t trusted) {
  const ledger::TreeReader& log = base_.log();
  const auto root_of = [&](std::uint64_t size) -> std::optional<ledger::MerkleHash> {
    if (size <= published_.size || size > trusted) {
      return std::nullopt;
    }
    const auto root = ledger::root_at(log, size);
    return root.ok() ? std::optional(root.value()) : std::nullopt;
  };
  const std::optional<PublishedLog> published = signatures_.newest(base_.members.voters, root_of);
  if (!published) {
    return;
  }
  published_ = {
      .size = published->size, .root = published->root, .signers = {}, .since_ms = base_.now_ms};
  for (const auto& [node, signature] : published->signatures) {
    published_.signers.push_back(node);
  }
  base_.times.published(published_.size, base_.port.now_ms());
  signatures_.forget_below(published_.size);
  base_.counters.published.set(static_cast<std::int64_t>(published_.size));
  base_.port.on_published(*published);
}

void LogSigning::repeat() {
  if (signed_) {
    base_.send_all(*signed_);
  }
}

}  // namespace gcoord::server
