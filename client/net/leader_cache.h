// Cache of shard leaders that this client learned from answers, hints and maps, and of the terms in
// which they lead. Only guesses: a wrong leader costs a redirect, a wrong term the same. One
// thread.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::client {

class LeaderCache {
 public:
  void resize(std::uint32_t shard_count) {
    leaders_.resize(shard_count);
    terms_.resize(shard_count);
  }

  // Node 0 when not known.
  NodeId leader(ShardId shard) const {
    return shard.value < leaders_.size() ? leaders_[shard.value] : NodeId{};
  }

  void learn(ShardId shard, NodeId node) {
    if (shard.value < leaders_.size()) {
      leaders_[shard.value] = node;
    }
  }

  void forget(ShardId shard) { learn(shard, NodeId{}); }

  // 0 when not known. Stays when the leader is forgotten.
  Term term(ShardId shard) const {
    return shard.value < terms_.size() ? terms_[shard.value] : Term{};
  }

  // Of what a node answered, which names 0 for no term. The last word counts: a term too high,
  // which no leader ever had, must not stay.
  void learn_term(ShardId shard, Term term) {
    if (shard.value < terms_.size() && term != Term{}) {
      terms_[shard.value] = term;
    }
  }

  // Makes the request name the term of its shard's leader (protocol::RequestFlag::NamesTerm).
  void name_term(protocol::RequestSlot& request) const {
    request.set(protocol::RequestFlag::NamesTerm);
    request.token = term(ShardId{request.shard}).value;
  }

 private:
  std::vector<NodeId> leaders_;  // By shard.
  std::vector<Term> terms_;      // By shard.
};

}  // namespace gcoord::client
