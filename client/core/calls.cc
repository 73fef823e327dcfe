#include "client/core/calls.h"

#include "common/name_hash.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace gcoord::client {

OperationPtr node_operation(const Core& core, protocol::RequestKind kind, NodeId node) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = kind;
  operation->target = Target::OneNode;
  operation->node = node;
  operation->deadline = core.request_deadline();
  return operation;
}

OperationPtr system_operation(const Core& core, protocol::RequestKind kind) {
  constexpr std::uint32_t kSystemShard = 0;
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = kind;
  operation->slot.shard = kSystemShard;
  operation->deadline = core.request_deadline();
  return operation;
}

std::uint64_t drawn_number() {
  const std::uint64_t drawn = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  return std::max<std::uint64_t>(drawn, 1);
}

ShardId shard_of_name(const Core& core, std::string_view name) {
  return shard_of(hash_name(name), core.shard_count());
}

OperationPtr name_operation(const Core& core, protocol::RequestKind kind, std::string_view name) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = kind;
  operation->name_hash = hash_name(name);
  operation->slot.shard = shard_of(operation->name_hash, core.shard_count()).value;
  operation->payload = name;
  operation->deadline = core.request_deadline();
  return operation;
}

}  // namespace gcoord::client
