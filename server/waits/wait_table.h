// Acquires that wait in a queue of the log and shall be answered here when their wait ends.
//
// The queue itself is replicated (locks/); this table only says, on the leader, which connection
// asked and until when. A repeated acquire binds its wait to the new connection. An entry leaves
// when its wait ends, or when this node stops leading the shard and the client must ask the new
// leader. Find, add and take cost O(log n); of a shard without waits here, find and take cost one
// load: every node sees the grants of all shards, and answers those that it leads. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/waits/wait_judge.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
  std::uint64_t number = 0;    // Of its binding; the table gives it.
  WaitOwner owner;
  // It is not allowed any more, and the log is to end it: the answer to its client then.
  std::shared_ptr<const std::string> refusal;
};

// One that is to be ended, and who is said to lead its shard now.
struct LeftWait {
  Wait wait;
  NodeId leader;
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

  // The wait is not allowed any more: its deadline is now, and this is the reason; no change when
  // there is no such wait.
  void refuse(const WaitKey& key, Tick now, std::string why);

  // The wait with the earliest deadline <= now; it keeps its place but loses its deadline.
  std::optional<WaitKey> next_due(Tick now);

  // All waits that the shard has now are to be ended, as next_left() gives them; none that is bound
  // later. Costs the same whatever their number.
  void leave(ShardId shard, NodeId leader);

  // Removes and returns one of those; nothing when there are none.
  std::optional<LeftWait> next_left();

  bool leaving() const { return !left_.empty(); }

  // Who is said to lead, if the wait of this number is one that is to be ended.
  std::optional<NodeId> left_to(ShardId shard, std::uint64_t number) const;

  // kTickNever when no wait has a deadline.
  Tick next_deadline() const;

  std::size_t size() const { return waits_.size(); }

  // Waits of the shard. O(1).
  std::uint32_t count_of(ShardId shard) const {
    return shard.value < counts_.size() ? counts_[shard.value] : 0;
  }

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

  // Of a shard, to be ended: bindings up to `newest`; those before `from` are looked at.
  struct Left {
    NodeId leader;
    std::uint64_t newest = 0;
    WaitKey from;
  };

  using Waits = std::map<WaitKey, Wait>;

  void forget_deadline(const WaitKey& key, const Wait& wait);
  Waits::iterator find(const WaitKey& key);
  Waits::const_iterator find(const WaitKey& key) const;
  void erase(Waits::iterator place);

  Waits waits_;
  std::vector<std::uint32_t> counts_;   // By shard, up to the highest that ever had a wait.
  std::set<Due> due_;                   // Exactly the waits with a deadline.
  std::map<std::uint32_t, Left> left_;  // By shard.
  std::uint64_t bound_ = 0;
};

}  // namespace gcoord::server
