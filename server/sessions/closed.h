// Sessions that their owners closed lately, so that nothing which was sent before begins them anew.
//
// Why: a session is registered in a shard by its first acquire there, and closing it forgets it. An
// acquire that was sent twice, because its answer was late, may arrive once more behind the close,
// over a connection that was stuck. It would be granted to nobody, until its TTL is over.
// What is remembered is no replicated state: a leader refuses to propose, and a new leader knows
// what it applied; a copy from before its term names another one (docs/adr/0088). Only ids that
// nodes give out, once each; ids that clients choose may come again.
// Bounded: the oldest is forgotten, kClosedMax of them are kept. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/lease_messages.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace gcoord::server {

class ClosedSessions {
 public:
  // Some seconds of closing as fast as a node can.
  static constexpr std::size_t kClosedMax = std::size_t{1} << 16;

  void note(SessionId session) {
    if (session.value < protocol::kSessionIdChosenEnd || !closed_.insert(session.value).second) {
      return;
    }
    order_.push_back(session.value);
    if (order_.size() > kClosedMax) {
      closed_.erase(order_.front());
      order_.pop_front();
    }
  }

  bool contains(SessionId session) const { return closed_.contains(session.value); }

 private:
  std::unordered_set<std::uint64_t> closed_;
  std::deque<std::uint64_t> order_;  // As they came.
};

}  // namespace gcoord::server
