// The shard in which a request finds its lock: that of the name's hash, or the one that the client
// was sent to after the lock was moved.
//
// Reads the tables of this node. Pure; one thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/request.h"

#include <cstdint>

namespace gcoord::server {

class LockLocator {
 public:
  LockLocator(std::uint32_t shard_count, const locks::LockCpu& locks)
      : shard_count_(shard_count), locks_(locks) {}

  ShardId shard_for(const protocol::RequestSlot& request, NameHash name) const {
    return request.has(protocol::RequestFlag::Moved) ? ShardId{request.shard}
                                                     : shard_of(name, shard_count_);
  }

  // Whether the lock is not known in the shard where the client was sent to ask for it. A shard
  // never forgets a name that was moved, so a leader that knows of it is right whatever it has yet
  // to apply; a leader that does not is asked again.
  bool is_arriving(const protocol::RequestSlot& request, ShardId shard, NameHash name) const {
    return request.has(protocol::RequestFlag::Moved) && shard != shard_of(name, shard_count_) &&
           !locks_.residence(shard, name).has_value();
  }

 private:
  std::uint32_t shard_count_;
  const locks::LockCpu& locks_;
};

}  // namespace gcoord::server
