// The publisher's part: rounds of heads, from the changed shards to an entry in the log of shard 0.
#include "common/assert.h"
#include "ledger/error_details.h"
#include "ledger/tree_frontier.h"
#include "ledger/tree_proof.h"
#include "server/publication.h"

#include <utility>

namespace gcoord::server {
namespace {

// A proposal of which nothing was heard is made again: long beside any election, short beside an
// operator's patience. Twice the same round does no harm, the log takes one.
constexpr std::uint64_t kProposeAgainMs = 2000;
// A shard that no majority agreed on is left alone for so long.
constexpr std::uint64_t kHoldMs = 1000;

}  // namespace

void Publication::lead() {
  propose_key();
  if (round_ && round_->options().old_size != state_.last().size) {
    round_.reset();  // It was ordered, or another one in its place.
  }
  if (round_) {
    settle_round();
  } else if (now_ms_ >= next_round_ms_ && up_to_date() && compared_ == state_.last().size &&
             hunt_.empty()) {
    begin_round();
  }
}

void Publication::begin_round() {
  std::vector<ledger::ShardHead> heads = collect();
  if (heads.empty()) {
    return;
  }
  const bool full = heads.size() == options_.round_heads_max;
  next_round_ms_ = now_ms_ + (full ? 0 : options_.interval_ms);
  round_.emplace(PublicationRoundOptions{.self = options_.self,
                                         .nodes = options_.nodes,
                                         .batch = ++batch_,
                                         .old_size = state_.last().size,
                                         .begin_ms = now_ms_},
                 std::move(heads));
  proposed_ms_ = 0;
  settle_round();
}

// The next changed shards, in turn, so that none waits for ever behind busy ones of lower numbers.
std::vector<ledger::ShardHead> Publication::collect() {
  std::vector<ledger::ShardHead> heads;
  const std::uint32_t count = heads_.shard_count();
  std::uint32_t shard = heads_.next_changed(cursor_);
  bool wrapped = false;
  while (heads.size() < options_.round_heads_max) {
    if (shard >= count) {
      if (wrapped || cursor_ == 0) {
        break;
      }
      wrapped = true;
      shard = heads_.next_changed(0);
      continue;
    }
    if (wrapped && shard >= cursor_) {
      break;
    }
    const ShardId id{shard};
    const auto held = held_until_ms_.find(id);
    const bool waits = held != held_until_ms_.end() && now_ms_ < held->second;
    const auto tree = waits ? nullptr : port_.tree(id);
    const std::uint64_t size = tree == nullptr ? 0 : tree->size();
    if (size > heads_.at(id).size) {
      const auto root = ledger::root_at(*tree, size);
      if (root.ok()) {
        heads.push_back({id, size, root.value()});
      } else {
        held_until_ms_[id] = now_ms_ + kHoldMs;  // Damaged here; the nodes' exchange will tell.
      }
    }
    shard = heads_.next_changed(shard + 1);
  }
  cursor_ = shard >= count ? 0 : shard;
  return heads;
}

void Publication::settle_round() {
  GCOORD_ASSERT(round_);
  round_->send(now_ms_, [this](NodeId to, std::vector<std::byte> message) {
    port_.send(to, std::move(message));
  });
  switch (round_->outcome(now_ms_)) {
    case PublicationRound::Outcome::Pending:
      return;
    case PublicationRound::Outcome::Agreed:
      return propose_round();
    case PublicationRound::Outcome::Split:
      return drop_disputed();
  }
}

void Publication::drop_disputed() {
  counters_.rounds_split.add();
  for (const PublicationRound::Dispute& dispute : round_->disputes()) {
    const ShardId shard = dispute.head.shard;
    held_until_ms_[shard] = now_ms_ + kHoldMs;
    if (dispute.majority_root) {
      counters_.heads_different.add();
      hunt_.begin({shard, dispute.head.size, *dispute.majority_root});
    } else if (dispute.differs) {
      port_.on_alarm({.node = NodeId{0}, .shard = shard, .size = dispute.head.size});
    }
  }
  round_.reset();
  next_round_ms_ = now_ms_;
}

void Publication::propose_round() {
  if (proposed_ms_ != 0 && now_ms_ < proposed_ms_ + kProposeAgainMs) {
    return;
  }
  const RoundEntry& last = state_.last();
  auto frontier = ledger::TreeFrontier::at(port_.cluster_log(), last.size);
  if (!frontier.ok()) {
    return fail(frontier.status());
  }
  for (const ledger::ShardHead& head : round_->heads()) {
    frontier.value().append(ledger::hash_leaf(ledger::encode_head(head)));
  }
  proposed_ms_ = now_ms_;
  counters_.rounds.add();
  port_.propose(encode(PublicationEntry{RoundEntry{.round = last.round + 1,
                                                   .old_size = last.size,
                                                   .size = frontier.value().size(),
                                                   .root = frontier.value().root(),
                                                   .digest = digest_of(round_->heads())}}));
}

// Keys that nodes announce and the log does not know, one at a time.
void Publication::propose_key() {
  if (now_ms_ < key_ms_) {
    return;
  }
  for (const auto& [node, key] : announced_) {
    const auto known = state_.keys().find(node);
    if (known == state_.keys().end() || known->second != key) {
      key_ms_ = now_ms_ + kRepeatMs;
      port_.propose(encode(PublicationEntry{KeyEntry{node, key}}));
      return;
    }
  }
}

}  // namespace gcoord::server
