#include "client/ledger/prune_orders.h"

#include "client/ledger/prune.h"
#include "client/net/failure.h"
#include "protocol/ledger/order_messages.h"

#include <optional>
#include <span>
#include <utility>

namespace gcoord::client {
namespace {

static_assert(static_cast<int>(PruneOrderAction::List) ==
              static_cast<int>(protocol::PruneOrderAction::List));
static_assert(static_cast<int>(PruneOrderAction::Order) ==
              static_cast<int>(protocol::PruneOrderAction::Order));
static_assert(static_cast<int>(PruneOrderAction::Confirm) ==
              static_cast<int>(protocol::PruneOrderAction::Confirm));
static_assert(static_cast<int>(PruneOrderAction::Cancel) ==
              static_cast<int>(protocol::PruneOrderAction::Cancel));

LedgerPruning pruning_of(const protocol::LedgerPrune& bounds) {
  LedgerPruning pruning{.cluster_log = bounds.log == protocol::LedgerLog::Cluster,
                        .shard = {},
                        .below_index = bounds.below,
                        .entries_kept = bounds.entries,
                        .bytes_kept = bounds.bytes,
                        .age_ms = bounds.age_ms};
  if (!pruning.cluster_log && bounds.shard != protocol::kAllShards) {
    pruning.shard = bounds.shard;
  }
  return pruning;
}

std::optional<PruneOrdersReport> read_report(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_prune_orders_answer(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  PruneOrdersReport report{
      .epoch = decoded.value().epoch, .delay_ms = decoded.value().delay_ms, .orders = {}};
  for (const protocol::PruneOrderRow& row : decoded.value().orders) {
    report.orders.push_back({.pruning = pruning_of(row.bounds),
                             .who = row.who,
                             .ordered_ms = row.ordered_ms,
                             .confirmed_by = row.confirmed_by,
                             .confirmed_ms = row.confirmed_ms,
                             .until_ms = row.until_ms});
  }
  return report;
}

constexpr StateRequest<PruneOrdersReport> kOrders{protocol::RequestKind::LedgerOrders,
                                                  "orders to prune the ledger",
                                                  "ledger_orders",
                                                  read_report};

}  // namespace

void prune_orders(Core& core,
                  const PruneOrderChange& change,
                  Callback<Result<PruneOrdersReport>> callback) {
  protocol::PruneOrdersQuery query;
  query.action = static_cast<protocol::PruneOrderAction>(change.action);
  query.number = drawn_number();
  query.bounds = prune_request(change.pruning);
  kOrders.submit(core, {{}, protocol::encode_prune_orders_query(query)}, std::move(callback));
}

}  // namespace gcoord::client
