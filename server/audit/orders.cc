#include "server/audit/orders.h"

#include "protocol/access/messages.h"
#include "protocol/force_messages.h"
#include "protocol/ledger/prune_messages.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/view_messages.h"
#include "protocol/move_messages.h"
#include "security/roles/facts.h"

#include <utility>

namespace gcoord::server {

namespace {

using protocol::RequestKind;
using Order = std::optional<AuditedOrder>;

constexpr ShardId kClusterShard{0};

Order of_break(const ClientRequest& request) {
  const auto order = protocol::decode_break(request.payload);
  return order.ok() ? Order{{ShardId{request.slot.shard}, true, std::string{order.value().name}}}
                    : std::nullopt;
}

Order of_move(const ClientRequest& request) {
  const auto order = protocol::decode_move(request.payload);
  return order.ok() ? Order{{ShardId{request.slot.shard},
                             true,
                             std::string{order.value().name} + " to shard " +
                                 std::to_string(order.value().to.value)}}
                    : std::nullopt;
}

Order of_prune(const ClientRequest& request) {
  const auto order = protocol::decode_ledger_prune(request.payload);
  if (!order.ok()) {
    return std::nullopt;
  }
  const protocol::LedgerPrune& prune = order.value();
  std::string text = prune.log == protocol::LedgerLog::Cluster ? "cluster log"
                     : prune.shard == protocol::kAllShards     ? "all shards"
                                                           : "shard " + std::to_string(prune.shard);
  const std::pair<const char*, std::uint64_t> bounds[] = {{" below ", prune.below},
                                                          {" entries ", prune.entries},
                                                          {" bytes ", prune.bytes},
                                                          {" age_ms ", prune.age_ms}};
  for (const auto& [name, number] : bounds) {
    text += number == 0 ? "" : name + std::to_string(number);
  }
  return AuditedOrder{kClusterShard, false, std::move(text)};
}

Order of_member_update(const ClientRequest& request) {
  const auto order = protocol::decode_member_order(request.payload);
  return order.ok() && !order.value().dry_run
             ? Order{{kClusterShard,
                      true,
                      "node " + std::to_string(order.value().change.node.value)}}
             : std::nullopt;
}

Order of_member_change(const ClientRequest& request) {
  const auto order = protocol::decode_member_action(request.payload);
  if (!order.ok() || order.value().dry_run) {
    return std::nullopt;
  }
  const protocol::MemberActionOrder& change = order.value();
  std::string text{protocol::member_action_name(change.action)};
  if (change.node.value != 0) {
    text += " node " + std::to_string(change.node.value);
  }
  return AuditedOrder{
      kClusterShard, change.action != protocol::MemberAction::MoveLeaders, std::move(text)};
}

Order of_access(const ClientRequest& request) {
  const auto order = protocol::decode_access_order(request.payload);
  return order.ok() && !order.value().dry_run
             ? Order{{kClusterShard,
                      true,
                      std::string{security::access_kind_name(order.value().kind)} + " " +
                          order.value().name}}
             : std::nullopt;
}

Order order_of(const ClientRequest& request) {
  switch (request.slot.kind) {
    case RequestKind::LockBreak:
      return of_break(request);
    case RequestKind::LockMove:
      return of_move(request);
    case RequestKind::LedgerPrune:
      return of_prune(request);
    case RequestKind::MemberUpdate:
      return of_member_update(request);
    case RequestKind::MemberChange:
      return of_member_change(request);
    case RequestKind::AccessChange:
      return of_access(request);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<AuditedOrder> audited_order(const ClientRequest& request, std::uint32_t shard_count) {
  Order order = order_of(request);
  return order && order->shard.value < shard_count ? order : std::nullopt;
}

}  // namespace gcoord::server
