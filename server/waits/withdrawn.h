// Acquires that their clients gave up lately, so that none of them is executed when it comes late.
//
// Why: a client that gives an acquire up cancels it by its number. If the acquire is still in a
// connection that is stuck, the cancel finds nothing and leaves no record; the acquire would be
// granted behind it, to a session that lives and knows nothing of it.
// What is remembered is no replicated state, as with ended sessions (server/sessions/closed.h): an
// acquire that another leader shall execute names that leader's term (docs/adr/0088). Only of
// sessions whose ids nodes give out, once each: their numbers never come again.
// Bounded: the oldest is forgotten, kWithdrawnMax of them are kept. One thread.
#pragma once

#include "protocol/lease_messages.h"
#include "server/waits/wait_table.h"

#include <cstddef>
#include <deque>
#include <set>

namespace gcoord::server {

class WithdrawnAcquires {
 public:
  // Some seconds of cancels as fast as a node takes them, at some 100 bytes each.
  static constexpr std::size_t kWithdrawnMax = std::size_t{1} << 14;

  void note(const WaitKey& key) {
    if (key.session.value < protocol::kSessionIdChosenEnd || !withdrawn_.insert(key).second) {
      return;
    }
    order_.push_back(key);
    if (order_.size() > kWithdrawnMax) {
      withdrawn_.erase(order_.front());
      order_.pop_front();
    }
  }

  bool contains(const WaitKey& key) const { return withdrawn_.contains(key); }

 private:
  std::set<WaitKey> withdrawn_;
  std::deque<WaitKey> order_;  // As they came.
};

}  // namespace gcoord::server
