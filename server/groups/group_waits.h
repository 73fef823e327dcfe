// The requests of clients that wait for another view of a group, or at its barrier.
//
// Kept by the leader of the shard alone, and not replicated: the next leader gets the requests
// again from their clients. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kGroupWaitsMax = 65'536;

struct GroupWait {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
  std::string name;
  Tick deadline = kTickNever;
  // At a barrier: which one, and for how many.
  std::uint64_t generation = 0;
  std::uint32_t size = 0;
  bool ending = false;  // Its deadline has passed, and the log has the end of its wait.
  std::string report;   // Who was missing then.
  // For a view: the one that the client has.
  std::uint64_t epoch = 0;
  std::uint32_t member_count = 0;

  bool at_barrier() const { return generation != 0; }
};

class GroupWaits {
 public:
  // False: there are too many.
  bool add(ShardId shard, NameHash group, GroupWait wait);

  // Takes the waits of a group out that `wanted` says yes to.
  template <typename Wanted>
  std::vector<GroupWait> take(ShardId shard, NameHash group, const Wanted& wanted) {
    std::vector<GroupWait> taken;
    const auto found = waits_.find(Key{shard.value, group.low, group.high});
    if (found != waits_.end()) {
      take_from(found->second, wanted, taken);
      if (found->second.empty()) {
        waits_.erase(found);
      }
    }
    size_ -= taken.size();
    return taken;
  }

  // The same of all groups of a shard; wanted(NameHash, GroupWait).
  template <typename Wanted>
  std::vector<GroupWait> take_of_shard(ShardId shard, const Wanted& wanted) {
    std::vector<GroupWait> taken;
    auto each = waits_.lower_bound(Key{shard.value, 0, 0});
    while (each != waits_.end() && std::get<0>(each->first) == shard.value) {
      const NameHash group{std::get<1>(each->first), std::get<2>(each->first)};
      take_from(
          each->second, [&](const GroupWait& wait) { return wanted(group, wait); }, taken);
      each = each->second.empty() ? waits_.erase(each) : std::next(each);
    }
    size_ -= taken.size();
    return taken;
  }

  // Every wait whose deadline has passed: due(ShardId, NameHash, GroupWait&), which says whether it
  // is over and may change it.
  template <typename Due>
  std::vector<GroupWait> take_due(Tick now, const Due& due) {
    std::vector<GroupWait> taken;
    if (next_deadline_ > now) {
      return taken;
    }
    next_deadline_ = kTickNever;
    for (auto each = waits_.begin(); each != waits_.end();) {
      const ShardId shard{std::get<0>(each->first)};
      const NameHash group{std::get<1>(each->first), std::get<2>(each->first)};
      take_from(
          each->second,
          [&](GroupWait& wait) { return wait.deadline <= now && due(shard, group, wait); },
          taken);
      for (const GroupWait& wait : each->second) {
        next_deadline_ = min_id(next_deadline_, wait.deadline);
      }
      each = each->second.empty() ? waits_.erase(each) : std::next(each);
    }
    size_ -= taken.size();
    return taken;
  }

  // The end of a session's wait did not get into the log, and is to be asked for again.
  struct LateEnd {
    ShardId shard;
    NameHash group;
    SessionId session;
    Tick again_at;
  };

  void retry_end(const LateEnd& end);

  Tick next_deadline() const { return next_deadline_; }

  std::size_t size() const { return size_; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

  template <typename Wanted>
  static void take_from(std::vector<GroupWait>& waits,
                        const Wanted& wanted,
                        std::vector<GroupWait>& taken) {
    std::erase_if(waits, [&](GroupWait& wait) {
      if (!wanted(wait)) {
        return false;
      }
      taken.push_back(std::move(wait));
      return true;
    });
  }

  std::map<Key, std::vector<GroupWait>> waits_;
  std::size_t size_ = 0;
  Tick next_deadline_ = kTickNever;
};

}  // namespace gcoord::server
