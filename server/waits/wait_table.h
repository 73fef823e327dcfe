// Acquires that wait in a queue of the log and shall be answered here when their wait ends.
//
// The queue itself is replicated (locks/); this table only says, on the leader, which connection
// asked and until when. A repeated acquire binds its wait to the new connection. An entry leaves
// when its wait ends, or when this node stops leading the shard and the client must ask the new
// leader. Find, add and take cost O(log n). One thread.
#pragma once

#include "common/ids.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace gcoord::server {

struct WaitKey {
  ShardId shard;
  SessionId session;
  RequestSequence sequence;

  friend bool operator<(const WaitKey& a, const WaitKey& b) {
    return std::tie(a.shard.value, a.session.value, a.sequence.value) <
           std::tie(b.shard.value, b.session.value, b.sequence.value);
  }
};

struct Wait {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
  std::uint64_t started_us = 0;
  Tick deadline = kTickNever;  // When the leader proposes to end the wait.
};

class WaitTable {
 public:
  // Adds or rebinds; returns the binding that was replaced.
  std::optional<Wait> bind(const WaitKey& key, const Wait& wait);

  std::optional<Wait> take(const WaitKey& key);

  // When the client asked, by the node's clock in microseconds; empty when it asked elsewhere.
  std::optional<std::uint64_t> started_us(const WaitKey& key) const;

  // Gives a wait another deadline; no change when there is no such wait.
  void set_deadline(const WaitKey& key, Tick deadline);

  // The wait with the earliest deadline <= now; it keeps its place but loses its deadline.
  std::optional<WaitKey> next_due(Tick now);

  // Removes and returns all waits of a shard.
  std::vector<Wait> take_shard(ShardId shard);

  // kTickNever when no wait has a deadline.
  Tick next_deadline() const;

  std::size_t size() const { return waits_.size(); }

  // Calls visit(key, wait) from the first wait at or behind `from` on, until it says no; returns
  // where to go on: the beginning after the last one.
  template <typename Visit>
  WaitKey visit_from(const WaitKey& from, const Visit& visit) const {
    for (auto next = waits_.lower_bound(from); next != waits_.end();) {
      const bool more = visit(next->first, next->second);
      ++next;
      if (!more) {
        return next == waits_.end() ? WaitKey{} : next->first;
      }
    }
    return WaitKey{};
  }

 private:
  struct Due {
    Tick deadline;
    WaitKey key;

    friend bool operator<(const Due& a, const Due& b) {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.key < b.key;
    }
  };

  void forget_deadline(const WaitKey& key, const Wait& wait);

  std::map<WaitKey, Wait> waits_;
  std::set<Due> due_;  // Exactly the waits with a deadline.
};

}  // namespace gcoord::server
