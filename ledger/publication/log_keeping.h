// Pruning of the cluster log's beginning, by a policy or an order.
//
// A leaf is kept until it is published and a newer head of its shard is, too (stale_heads.h).
// Whether this node has compared it, or signed it, does not count: a node that never gets so far
// would keep everything. A leaf that goes uncompared is below a newer head of the same shard, and
// comparing that one compares all entries before it. One thread.
#pragma once

#include "common/status.h"
#include "ledger/base/keep_policy.h"
#include "ledger/heads/stale_heads.h"
#include "ledger/publication/head_audit.h"
#include "ledger/publication/publication_base.h"

#include <cstdint>

namespace gcoord::server {

class LogKeeping {
 public:
  // Both outlive it.
  LogKeeping(PublicationBase& base, HeadAudit& audit);

  // Prunes by the policy about once a second. published: the size that a majority has signed.
  void advance(std::uint64_t published);

  struct Order {
    ledger::KeepPolicy keep;
    std::uint64_t below = 0;
  };

  // Lets go of leaves that neither the policy nor `below` keeps, and that are not needed; how many.
  // A failure is the port's, and final.
  Result<std::uint64_t> prune(const Order& order, std::uint64_t published);

 private:
  PublicationBase& base_;
  HeadAudit& audit_;
  StaleHeads stale_;
  std::uint64_t keep_ms_ = 0;  // Nothing is pruned before by the policy.
};

}  // namespace gcoord::server
