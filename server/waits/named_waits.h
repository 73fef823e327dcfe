// Requests of clients that wait for something to happen at a name, with the time limit of each.
//
// Kept by the leader of the shard alone, and not replicated: the next leader gets the requests
// again from their clients. One thread, the node's loop.
//
// A Wait has `request` (a RequestSlot), `deadline` (a Tick), `ending`: its deadline has passed, and
// the log has the end of it, and for judge() `connection`, `name`, `owner` (a WaitOwner) and
// `refusal`: why it is not allowed any more, if so.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "server/waits/wait_judge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord::server {

template <typename Wait, std::size_t kMost>
class NamedWaits {
 public:
  struct Name {
    ShardId shard;
    NameHash hash;
  };

  // False: there are too many.
  bool add(ShardId shard, NameHash name, Wait wait) {
    if (size_ == kMost) {
      return false;
    }
    next_deadline_ = min_id(next_deadline_, wait.deadline);
    waits_[Key{shard.value, name.low, name.high}].push_back(std::move(wait));
    ++size_;
    return true;
  }

  // Takes the waits for a name out that wanted(const Wait&) says yes to.
  template <typename Wanted>
  std::vector<Wait> take(ShardId shard, NameHash name, const Wanted& wanted) {
    std::vector<Wait> taken;
    const auto found = waits_.find(Key{shard.value, name.low, name.high});
    if (found != waits_.end()) {
      take_from(found, wanted, taken);
    }
    return taken;
  }

  // The same of all names of a shard; wanted(NameHash, const Wait&).
  template <typename Wanted>
  std::vector<Wait> take_of_shard(ShardId shard, const Wanted& wanted) {
    std::vector<Wait> taken;
    auto each = waits_.lower_bound(Key{shard.value, 0, 0});
    while (each != waits_.end() && shard_of_key(each->first) == shard) {
      const NameHash name = name_of_key(each->first);
      each = take_from(
          each, [&](const Wait& wait) { return wanted(name, wait); }, taken);
    }
    return taken;
  }

  // Every wait whose deadline has passed: due(ShardId, NameHash, Wait&), which says whether it is
  // over and may change it.
  template <typename Due>
  std::vector<Wait> take_due(Tick now, const Due& due) {
    std::vector<Wait> taken;
    if (next_deadline_ > now) {
      return taken;
    }
    next_deadline_ = kTickNever;
    for (auto each = waits_.begin(); each != waits_.end();) {
      const ShardId shard = shard_of_key(each->first);
      const NameHash name = name_of_key(each->first);
      each = take_from(
          each,
          [&](Wait& wait) {
            if (wait.deadline <= now && due(shard, name, wait)) {
              return true;
            }
            next_deadline_ = min_id(next_deadline_, wait.deadline);
            return false;
          },
          taken);
    }
    return taken;
  }

  // The end of waits for a name did not get into the log, and is to be asked for again at that
  // tick: of those that are(const Wait&) says yes to.
  template <typename Are>
  void retry_ends(const Name& name, Tick again_at, const Are& are) {
    const auto found = waits_.find(Key{name.shard.value, name.hash.low, name.hash.high});
    if (found != waits_.end()) {
      retry_in(found->second, again_at, are);
    }
  }

  // The same of all names of a shard.
  template <typename Are>
  void retry_ends_of_shard(ShardId shard, Tick again_at, const Are& are) {
    auto each = waits_.lower_bound(Key{shard.value, 0, 0});
    for (; each != waits_.end() && shard_of_key(each->first) == shard; ++each) {
      retry_in(each->second, again_at, are);
    }
  }

  // A slice of a judge's round (wait_judge.h): all waits of some names, about kVerdictsPerTick of
  // them. Those that may not go on are due now, and have the reason.
  void judge(JudgingRound& round, Tick now) {
    if (round.begin()) {
      judged_from_ = {};
    }
    std::size_t looks = kVerdictsPerTick;
    auto each = waits_.lower_bound(judged_from_);
    while (round.visiting() && looks > 0 && each != waits_.end()) {
      for (Wait& wait : each->second) {
        wait.refusal = round.refusal(wait);
        if (!wait.refusal.empty() && !wait.ending) {
          wait.deadline = now;
          next_deadline_ = min_id(next_deadline_, now);
        }
      }
      looks -= std::min(looks, each->second.size());
      ++each;
    }
    if (each == waits_.end()) {
      round.finish();
    } else {
      judged_from_ = each->first;
    }
  }

  Tick next_deadline() const { return next_deadline_; }

  std::size_t size() const { return size_; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
  using Waits = std::map<Key, std::vector<Wait>>;

  static ShardId shard_of_key(const Key& key) { return ShardId{std::get<0>(key)}; }

  static NameHash name_of_key(const Key& key) { return {std::get<1>(key), std::get<2>(key)}; }

  // Takes from one entry; the one behind it.
  template <typename Wanted>
  typename Waits::iterator take_from(typename Waits::iterator each,
                                     const Wanted& wanted,
                                     std::vector<Wait>& taken) {
    const std::size_t before = taken.size();
    std::erase_if(each->second, [&](Wait& wait) {
      if (!wanted(wait)) {
        return false;
      }
      taken.push_back(std::move(wait));
      return true;
    });
    size_ -= taken.size() - before;
    return each->second.empty() ? waits_.erase(each) : std::next(each);
  }

  template <typename Are>
  void retry_in(std::vector<Wait>& waits, Tick again_at, const Are& are) {
    for (Wait& wait : waits) {
      if (wait.ending && are(wait)) {
        wait.ending = false;
        wait.deadline = again_at;
        next_deadline_ = min_id(next_deadline_, again_at);
      }
    }
  }

  Waits waits_;
  Key judged_from_;  // Of a round: where its next slice begins.
  std::size_t size_ = 0;
  Tick next_deadline_ = kTickNever;
};

}  // namespace gcoord::server
