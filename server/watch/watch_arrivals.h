// Arrivals of moved locks: where in the ring each came that the ring still has.
//
// One thread.
#pragma once

#include "common/name_hash.h"
#include "server/watch/record.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace gcoord::server {

class WatchArrivals {
 public:
  // Where in the ring the lock came.
  struct Arrival {
    ShardId shard;
    std::uint64_t cursor = 0;
  };

  // Cursors never fall from call to call.
  void note(const WatchMove& move, Arrival arrival) {
    const Key key{hash_name(move.name), move.number};
    arrivals_[key] = arrival;
    order_.emplace_back(arrival.cursor, key);
  }

  // Of those that the ring no longer has.
  void forget_before(std::uint64_t first) {
    while (!order_.empty() && order_.front().first < first) {
      arrivals_.erase(order_.front().second);
      order_.pop_front();
    }
  }

  // What came to the shard is in a state that it was given: the ring does not have all that
  // followed.
  void forget(ShardId shard) {
    std::erase_if(arrivals_, [shard](const auto& each) { return each.second.shard == shard; });
  }

  std::optional<Arrival> find(NameHash name, std::uint32_t move_number) const {
    const auto known = arrivals_.find(Key{name, move_number});
    return known == arrivals_.end() ? std::nullopt : std::optional{known->second};
  }

 private:
  // A name, and the number of a move.
  struct Key {
    NameHash name;
    std::uint32_t number = 0;

    bool operator<(const Key& other) const {
      return std::tie(name.high, name.low, number) <
             std::tie(other.name.high, other.name.low, other.number);
    }
  };

  std::map<Key, Arrival> arrivals_;                  // No more of both than the ring has records.
  std::deque<std::pair<std::uint64_t, Key>> order_;  // By cursor.
};

}  // namespace gcoord::server
