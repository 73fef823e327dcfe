// Places of locks: the shard that each is asked for in. That is the one of its name, or where it is
// known to have moved (moved_names.h).
//
// One thread.
#pragma once

#include "client/dispatch/moved_names.h"
#include "client/dispatch/operation.h"
#include "client/nodes/node_set.h"

namespace gcoord::client {

class LockPlaces {
 public:
  explicit LockPlaces(NodeSet& nodes);

  // The shard of the name.
  ShardId home(NameHash name) const;

  // A lock that is known to have moved is asked for where it is.
  void locate(Operation& operation) const;

  // Makes it a request to that shard.
  void address(Operation& operation, ShardId shard) const;

  // Whether it goes where this answer says that its lock is.
  bool follows(const Operation& operation, const protocol::ReplySlot& slot) const;

  // Whether the request came to this shard by what the client remembers alone, which a cluster that
  // was restored may know nothing of. One that the shard may have executed stays with it.
  bool doubts(const Operation& operation) const;

  void learn(NameHash name, ShardId shard);

  void forget(NameHash name) { moved_.forget(name); }

 private:
  NodeSet& nodes_;
  MovedNames moved_;
};

}  // namespace gcoord::client
