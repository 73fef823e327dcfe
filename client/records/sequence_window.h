// The numbers of one session's requests in one shard: what makes a retry the same request.
//
// Numbers rise from the first and are never reused. acked_below tells the shard which replies it
// may forget: all numbers below it have been answered. At most protocol::kOutstandingMax are
// unanswered at once; the shard remembers twice as many (RIFL, Lee et al., SOSP 2015). Numbers
// count per shard, so that one long wait holds back nothing elsewhere. One thread.
#pragma once

#include "common/assert.h"
#include "protocol/limits.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::client {

class SequenceWindow {
 public:
  explicit SequenceWindow(std::uint64_t first = 1) : next_(first) { GCOORD_ASSERT(first > 0); }

  bool full() const { return outstanding_.size() >= protocol::kOutstandingMax; }

  // A number for a request that begins. Not full.
  std::uint64_t begin() {
    GCOORD_ASSERT(!full());
    outstanding_.push_back(next_);
    return next_++;
  }

  // The request is answered, or given up for good.
  void end(std::uint64_t sequence) {
    const auto found = std::ranges::lower_bound(outstanding_, sequence);
    GCOORD_ASSERT(found != outstanding_.end());
    GCOORD_ASSERT(*found == sequence);
    outstanding_.erase(found);
  }

  std::uint64_t acked_below() const { return outstanding_.empty() ? next_ : outstanding_.front(); }

 private:
  std::uint64_t next_;
  std::vector<std::uint64_t> outstanding_;  // Rising.
};

}  // namespace gcoord::client
