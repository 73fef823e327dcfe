#include "client/dispatch/lock_places.h"

namespace gcoord::client {

LockPlaces::LockPlaces(NodeSet& nodes) : nodes_(nodes) {}

ShardId LockPlaces::home(NameHash name) const {
  return shard_of(name, nodes_.cluster()->shard_count);
}

void LockPlaces::locate(Operation& operation) const {
  // A cancel goes where its acquire went, and the past of a shard stays in that shard.
  const bool named = operation.name_hash != NameHash{} &&
                     operation.slot.kind != protocol::RequestKind::LockCancel &&
                     operation.slot.kind != protocol::RequestKind::LockGetAt;
  if (moved_.empty() || !named || operation.slot.has(protocol::RequestFlag::Moved)) {
    return;
  }
  if (const auto shard = moved_.find(operation.name_hash)) {
    operation.slot.shard = shard->value;
    operation.slot.set(protocol::RequestFlag::Moved);
  }
}

bool LockPlaces::follows(const Operation& operation, const protocol::ReplySlot& slot) const {
  return operation.name_hash != NameHash{} && operation.target == Target::ShardLeader &&
         operation.slot.kind != protocol::RequestKind::LockCancel &&
         operation.slot.kind != protocol::RequestKind::LockGetAt &&
         slot.extra < nodes_.cluster()->shard_count && slot.extra != operation.slot.shard;
}

void LockPlaces::learn(NameHash name, ShardId shard) {
  if (shard == home(name)) {
    moved_.forget(name);
  } else {
    moved_.learn(name, shard);
  }
}

void LockPlaces::address(Operation& operation, ShardId shard) const {
  if (shard == home(operation.name_hash)) {
    operation.slot.unset(protocol::RequestFlag::Moved);
  } else {
    operation.slot.set(protocol::RequestFlag::Moved);
  }
  operation.slot.shard = shard.value;
}

bool LockPlaces::doubts(const Operation& operation) const {
  const bool remembered = operation.name_hash != NameHash{} && operation.tries.moves == 0 &&
                          operation.slot.has(protocol::RequestFlag::Moved) &&
                          operation.slot.kind != protocol::RequestKind::LockCancel;
  return remembered && (operation.session == nullptr || !operation.tries.outcome_unknown);
}

}  // namespace gcoord::client
