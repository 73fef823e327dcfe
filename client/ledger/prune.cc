#include "client/ledger/prune.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <utility>

namespace gcoord::client {

protocol::LedgerPrune prune_request(const LedgerPruning& order) {
  const auto log = order.cluster_log ? protocol::LedgerLog::Cluster : protocol::LedgerLog::Shards;
  return {.log = log,
          .shard = order.shard.value_or(order.cluster_log ? 0 : protocol::kAllShards),
          .below = order.below_index,
          .entries = order.entries_kept,
          .bytes = order.bytes_kept,
          .age_ms = order.age_ms};
}

namespace {

Result<LedgerPruned> pruned_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto pruned = protocol::decode_ledger_pruned(answer.payload);
  if (!pruned.ok()) {
    return failure(protocol::ErrorCode::ReplyMalformed, "ledger_pruned");
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
  OperationPtr operation = node_operation(core, protocol::RequestKind::LedgerPrune, node);
  operation->payload = protocol::text_of(protocol::encode_ledger_prune(prune_request(order)));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(pruned_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
