#include "server/peers/directory_claim.h"

#include "server/interfaces/errors.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"

#include <cstddef>

namespace gcoord::server {

// A peer knows this directory better than the directory does, or the node runs with settings of its
// own: it must not speak, and only a person can put it right.
Status DirectoryClaim::on_refused(NodeId peer,
                                  const netcore::Refusal& refusal,
                                  std::uint64_t now_ms) {
  if (refusal.code == netcore::RefusalCode::DuplicateNode) {
    return on_duplicate(refusal, now_ms);
  }
  if (refusal.code == netcore::RefusalCode::RemovedNode) {
    return on_removed(peer, refusal);
  }
  const bool forgot = refusal.code == netcore::RefusalCode::OldIncarnation ||
                      refusal.code == netcore::RefusalCode::ReplacedDirectory;
  if (!forgot && refusal.code != netcore::RefusalCode::DifferentSettings) {
    return {};
  }
  const bool known = refusal.known.value != 0 &&
                     generation_of(refusal.known) >= generation_of(identity_.incarnation());
  if (forgot && known && rejoin_) {
    return take_over(refusal);
  }
  return {StatusCode::FailedPrecondition,
          "a peer refuses this node: " + refusal.text,
          forgot ? kDirectoryRefused : kSettingsDiffer};
}

// One of them may be somebody else at a dead node's address.
Status DirectoryClaim::on_removed(NodeId peer, const netcore::Refusal& refusal) {
  const bool first = removers_.insert(peer).second;
  const auto said = static_cast<std::size_t>(
      std::ranges::count_if(voters_, [this](NodeId voter) { return removers_.contains(voter); }));
  if (first) {
    log_warning(LogComponent::Node,
                "node {} says that this node has left the cluster; {} of {} other voters say so, "
                "and a majority ends this node: {}",
                peer.value,
                said,
                voters_.size(),
                refusal.text);
  }
  return said > voters_.size() / 2 ? Status{StatusCode::FailedPrecondition,
                                            "peers refuse this node: " + refusal.text,
                                            kNodeRemoved}
                                   : Status{};
}

// With or without --rejoin: a node that lives is not succeeded.
Status DirectoryClaim::on_duplicate(const netcore::Refusal& refusal, std::uint64_t now_ms) {
  if (duplicate_last_ms_ == 0 || now_ms - duplicate_last_ms_ > kDuplicateMs) {
    duplicate_since_ms_ = now_ms;
  }
  duplicate_last_ms_ = now_ms;
  if (now_ms - duplicate_since_ms_ < kDuplicateMs) {
    return {};
  }
  return {StatusCode::AlreadyExists, "a peer refuses this node: " + refusal.text, kNodeIdDuplicate};
}

// The operator has said that this node may come back without its memory: it becomes the successor
// of what the peer remembers.
Status DirectoryClaim::take_over(const netcore::Refusal& refusal) {
  taken_over_ = true;
  GCOORD_TRY_STATUS(identity_.take_over(refusal.known, draw_random()));
  return {StatusCode::Aborted,
          "restarts with a new incarnation, because a peer says: " + refusal.text,
          kDirectoryTakenOver};
}

// A row says that it remembers when the configuration behind which it votes again is durable here.
Status DirectoryClaim::rejoin_when_due(std::uint32_t forgotten_count) {
  const bool due = forgotten_count == 0 && identity_.rejoining() && !taken_over_;
  Status status = due ? identity_.mark_rejoined() : Status{};
  // A full disk is tried again with the next turn.
  return status.code() == StatusCode::ResourceExhausted ? Status{} : status;
}

}  // namespace gcoord::server
