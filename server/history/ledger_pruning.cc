#include "server/history/ledger_pruning.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "ledger/base/error_details.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "server/platform/operator_log.h"

#include <chrono>
#include <string>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

namespace {

ledger::PruneOrder order_of(const protocol::LedgerPrune& asked) {
  ledger::PruneOrder order;
  if (asked.log == protocol::LedgerLog::Shards && asked.shard != protocol::kAllShards) {
    order.shard = ShardId{asked.shard};
  }
  order.below = asked.below;
  order.keep = {.entries = asked.entries, .bytes = asked.bytes, .age_ms = asked.age_ms};
  return order;
}

// Whoever was to do it has ended, and the node with it.
Result<ledger::PruneReport> taken(LedgerPruning::Report& report) {
  try {
    return report.get();
  } catch (const std::future_error&) {
    return Status{StatusCode::Aborted, "the node stops", ledger::kHistoryFailed};
  }
}

}  // namespace

void LedgerPruning::refuse(protocol::ConnectionId connection,
                           const protocol::RequestSlot& request,
                           const Status& status) {
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.code = status.code();
  reply.detail = status.detail();
  environment_.replies.reply(connection, reply, protocol::bytes_of(status.message()));
}

void LedgerPruning::on_request(protocol::ConnectionId connection,
                               const protocol::RequestSlot& request,
                               std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == protocol::RequestKind::LedgerPrune);
  if (request.flags != 0) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SlotInvalid));
  }
  const auto asked = protocol::decode_ledger_prune(payload);
  if (!asked.ok()) {
    return refuse(connection, request, asked.status());
  }
  const ledger::PruneOrder order = order_of(asked.value());
  if (order.shard && order.shard->value >= environment_.shard_count) {
    return refuse(
        connection,
        request,
        protocol::make_error(ErrorCode::LedgerPruneInvalid,
                             "shards are 0 to " + std::to_string(environment_.shard_count - 1)));
  }
  const auto& begin =
      asked.value().log == protocol::LedgerLog::Shards ? environment_.shards : environment_.cluster;
  if (begin == nullptr) {
    return refuse(connection, request, protocol::make_error(ErrorCode::LedgerUnpublished));
  }
  if (environment_.permits) {
    if (const Status permitted = environment_.permits(asked.value()); !permitted.ok()) {
      return refuse(connection, request, permitted);
    }
  }
  if (under_way_) {
    return refuse(connection, request, protocol::make_error(ErrorCode::LedgerPruneBusy));
  }
  const std::string& who = environment_.replies.principal(connection).name;
  log_warning(LogComponent::Ledger,
              "{} ({}) prunes the ledger: {}",
              who.empty() ? "somebody" : shown(who),
              environment_.replies.describe(connection),
              protocol::prune_text(asked.value()));
  under_way_ = UnderWay{connection, request, begin(order, environment_.wake)};
}

void LedgerPruning::advance() {
  if (!under_way_ ||
      under_way_->report.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    return;
  }
  UnderWay done = std::move(*under_way_);
  under_way_.reset();
  const auto report = taken(done.report);
  if (!report.ok()) {
    return refuse(done.connection, done.request, report.status());
  }
  const std::vector<std::byte> payload =
      protocol::encode_ledger_pruned({.logs = report.value().shards,
                                      .entries = report.value().entries,
                                      .kept = report.value().kept,
                                      .damaged = report.value().damaged});
  environment_.replies.reply(done.connection, protocol::reply_to(done.request), payload);
}

}  // namespace gcoord::server
