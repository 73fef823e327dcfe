#include "server/peers/directory_claim.h"

#include "server/interfaces/errors.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"

namespace gcoord::server {

// A peer knows this directory better than the directory does, or the node runs with settings of its
// own: it must not speak, and only a person can put it right.
Status DirectoryClaim::on_refused(NodeId peer,
                                  const netcore::Refusal& refusal,
                                  std::uint64_t now_ms) {
  const Said& said = note(peer, refusal);
  if (said.reason == Reason::Passing) {
    return {};
  }
  if (!is_enough(said.reason, refusal)) {
    if (said.is_new) {
      log_word(peer, refusal);
    }
    return {};
  }
  switch (said.reason) {
    case Reason::Duplicate:
      return on_duplicate(refusal, now_ms);
    case Reason::Removed:
      return {
          StatusCode::FailedPrecondition, "peers refuse this node: " + refusal.text, kNodeRemoved};
    case Reason::Forgotten:
      return on_forgotten(refusal);
    case Reason::Settings:
    case Reason::Passing:
      break;
  }
  return {
      StatusCode::FailedPrecondition, "a peer refuses this node: " + refusal.text, kSettingsDiffer};
}

DirectoryClaim::Reason DirectoryClaim::reason_of(const netcore::Refusal& refusal) {
  switch (refusal.code) {
    case netcore::RefusalCode::DuplicateNode:
      return Reason::Duplicate;
    case netcore::RefusalCode::RemovedNode:
      return Reason::Removed;
    case netcore::RefusalCode::OldIncarnation:
    case netcore::RefusalCode::ReplacedDirectory:
      return Reason::Forgotten;
    case netcore::RefusalCode::DifferentSettings:
      return Reason::Settings;
    default:
      return Reason::Passing;
  }
}

void DirectoryClaim::on_admitted(NodeId peer) {
  refusals_.erase(peer);
  admitted_.insert(peer);
  was_doubted_ = was_doubted_ && !is_admitted();
}

bool DirectoryClaim::is_admitted() const {
  return std::ranges::all_of(voters_, [this](NodeId voter) { return admitted_.contains(voter); });
}

DirectoryClaim::Said& DirectoryClaim::note(NodeId peer, const netcore::Refusal& refusal) {
  Said& said = refusals_[peer];
  const Reason reason = reason_of(refusal);
  admitted_.erase(peer);
  was_doubted_ = was_doubted_ || reason == Reason::Forgotten;
  said = {.reason = reason, .known = refusal.known, .is_new = said.reason != reason};
  return said;
}

std::size_t DirectoryClaim::voters_saying(Reason reason) const {
  return static_cast<std::size_t>(std::ranges::count_if(voters_, [&](NodeId voter) {
    const auto found = refusals_.find(voter);
    return found != refusals_.end() && found->second.reason == reason;
  }));
}

// One that is not proven may be somebody else at a dead node's address.
bool DirectoryClaim::is_enough(Reason reason, const netcore::Refusal& refusal) const {
  const bool is_word = refusal.is_proven && reason != Reason::Removed;
  const std::size_t said = voters_saying(reason);
  // The operator says it, too, so a node comes back wherever it makes a majority with those who
  // refuse it; still not by a single word where there are others.
  const bool is_half = 2 * said >= voters_.size() && (said > 1 || voters_.size() <= 1);
  const bool rejoins =
      reason == Reason::Forgotten && rejoin_ && (is_half || no_other_will_say(refusal));
  return is_word || rejoins || said > voters_.size() / 2;
}

// Of the others each has admitted this directory or says that it has forgotten. If the word is a
// lie, it costs the next generation and a rejoin: it names no further one, and does not count again
// before that rejoin is over.
bool DirectoryClaim::no_other_will_say(const netcore::Refusal& refusal) const {
  const bool is_next =
      generation_of(newest_known(refusal)) <= generation_of(identity_.incarnation());
  return is_next && !identity_.rejoining() && doubted() &&
         std::ranges::all_of(voters_, [this](NodeId voter) {
           const auto said = refusals_.find(voter);
           return said != refusals_.end() ? said->second.reason == Reason::Forgotten
                                          : admitted_.contains(voter);
         });
}

// The newest directory that any of those remembers who say that this one has forgotten; of a proven
// word, what it says itself.
Incarnation DirectoryClaim::newest_known(const netcore::Refusal& refusal) const {
  Incarnation known = refusal.known;
  for (const auto& [peer, said] : refusals_) {
    if (said.reason == Reason::Forgotten && !refusal.is_proven) {
      known = std::max(known, said.known);
    }
  }
  return known;
}

void DirectoryClaim::log_word(NodeId peer, const netcore::Refusal& refusal) const {
  const Reason reason = reason_of(refusal);
  log_warning(LogComponent::Node,
              "node {} refuses this node, and {} of {} other voters do for that reason; a majority "
              "ends this one{}: {}",
              peer.value,
              voters_saying(reason),
              voters_.size(),
              reason == Reason::Forgotten ? "; it does not vote meanwhile" : "",
              refusal.text);
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

Status DirectoryClaim::on_forgotten(const netcore::Refusal& refusal) {
  const Incarnation known = newest_known(refusal);
  const bool is_newer =
      known.value != 0 && generation_of(known) >= generation_of(identity_.incarnation());
  if (is_newer && rejoin_) {
    return take_over(known, refusal);
  }
  return {StatusCode::FailedPrecondition,
          "a peer refuses this node: " + refusal.text,
          kDirectoryRefused};
}

// The operator has said that this node may come back without its memory: it becomes the successor
// of what the peers remember.
Status DirectoryClaim::take_over(Incarnation known, const netcore::Refusal& refusal) {
  taken_over_ = true;
  GCOORD_TRY_STATUS(identity_.take_over(known, draw_random()));
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
