// The newest changes of views on a node, for clients that follow a group.
//
// A ring over all groups: what is older is not there, and then a client gets the whole view. It is
// not replicated: every node fills its own from the entries that it applies. One thread, the node's
// loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "membership/groups/group_cpu.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gcoord::server {

// At most some 640 bytes each: 5 MiB.
inline constexpr std::size_t kViewChangesKept = 8'192;

class ViewLog {
 public:
  void add(const membership::GroupChange& change);

  // The shard's state came from elsewhere: what happened in between is not known here.
  void forget(ShardId shard);

  struct Changes {
    bool complete = false;  // Nothing is missing between `epoch` and the first of them.
    std::vector<const membership::GroupChange*>
        rows;  // Oldest first; whole views, at most `limit`.
  };

  // The view of a group that somebody has.
  struct Known {
    ShardId shard;
    NameHash group;
    std::uint64_t epoch = 0;
  };

  // The changes after it. Valid until the next call of add().
  Changes after(const Known& known, std::size_t limit) const;

 private:
  std::deque<membership::GroupChange> changes_;
};

}  // namespace gcoord::server
