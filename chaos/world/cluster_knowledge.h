// Knowledge of a client about its cluster: who leads, where locks have moved, how far shards are.
//
// What it says may be of the past: whoever is asked says so. One thread.
#pragma once

#include "client/dispatch/moved_names.h"
#include "client/net/leader_cache.h"
#include "common/name_hash.h"
#include "protocol/request.h"

#include <cstdint>
#include <map>
#include <string>

namespace gcoord::chaos {

class ClusterKnowledge {
 public:
  explicit ClusterKnowledge(std::uint32_t shard_count) : shard_count_(shard_count) {
    leaders_.resize(shard_count);
  }

  client::LeaderCache& leaders() { return leaders_; }

  // Makes it a request to the shard where the lock of this key is.
  void find_place(protocol::RequestSlot& slot, const std::string& key) const {
    const NameHash name = hash_name(key);
    slot.shard = shard_of(name, shard_count_).value;
    slot.unset(protocol::RequestFlag::Moved);
    if (const auto moved = moved_.find(name)) {
      slot.shard = moved->value;
      slot.set(protocol::RequestFlag::Moved);
    }
  }

  void learn_place(const std::string& key, ShardId shard) {
    const NameHash name = hash_name(key);
    const bool home = shard == shard_of(name, shard_count_);
    home ? moved_.forget(name) : moved_.learn(name, shard);
  }

  // How far the client has seen the shard, over all sessions.
  LogIndex seen(ShardId shard) const {
    const auto found = seen_.find(shard.value);
    return found == seen_.end() ? LogIndex{} : found->second;
  }

  void note_position(ShardId shard, LogIndex index) {
    LogIndex& seen = seen_[shard.value];
    seen = max_id(seen, index);
  }

 private:
  std::uint32_t shard_count_;
  client::LeaderCache leaders_;
  client::MovedNames moved_;
  std::map<std::uint32_t, LogIndex> seen_;  // By shard.
};

}  // namespace gcoord::chaos
