#include "client/ledger_prune.h"

#include "client/failure.h"
#include "rpc/ledger_messages.h"
#include "rpc/lock_messages.h"

#include <utility>

namespace gcoord::client {
namespace {

rpc::LedgerPrune request_of(const LedgerPruning& order) {
  const auto log = order.cluster_log ? rpc::LedgerLog::Cluster : rpc::LedgerLog::Shards;
  return {.log = log,
          .shard = order.shard.value_or(order.cluster_log ? 0 : rpc::kAllShards),
          .below = order.below_index,
          .entries = order.entries_kept,
          .bytes = order.bytes_kept,
          .age_ms = order.age_ms};
}

Result<LedgerPruned> pruned_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto pruned = rpc::decode_ledger_pruned(answer.payload);
  if (!pruned.ok()) {
    return failure(rpc::ErrorCode::ReplyMalformed, "ledger_pruned");
  }
  return LedgerPruned{.logs = pruned.value().logs,
                      .entries = pruned.value().entries,
                      .kept = pruned.value().kept,
                      .damaged = pruned.value().damaged};
}

}  // namespace

void prune_ledger(Core& core,
                  NodeId node,
                  const LedgerPruning& order,
                  Callback<Result<LedgerPruned>> callback) {
  OperationPtr operation = node_operation(core, rpc::RequestKind::LedgerPrune, node);
  operation->payload = rpc::text_of(rpc::encode_ledger_prune(request_of(order)));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(pruned_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
