#include "server/node/ledger_stack.h"

#include "ledger/base/error_details.h"
#include "ledger/snapshot/frontier.h"
#include "server/node/node_parts.h"
#include "server/platform/boot_time.h"

#include <span>
#include <utility>

namespace gcoord::server {

LedgerStack::LedgerStack(const NodeOptions& options, StateMachine& inner, MetricsRegistry& metrics)
    : options_(options),
      metrics_(metrics),
      history_(history_options(options, metrics), inner),
      publication_(history_.service()),
      witness_(publication_),
      views_(options.witness ? static_cast<StateMachine&>(witness_) : publication_),
      access_(views_),
      limits_(access_),
      audit_(limits_, {.shard_count = options.shards, .keeps = !options.witness}) {
  if (!options.first_admin.empty()) {
    access_.set_first_admin(options.first_admin);
  }
}

Status LedgerStack::open(ledger::DiskRoom& room) {
  NodeLedgerOptions options = ledger_options(options_);
  options.room = &room;
  GCOORD_TRY(ledger_, NodeLedger::open(std::move(options), metrics_));
  return Status{};
}

Status LedgerStack::open_history(ledger::DiskRoom& room) {
  const bool durable = options_.durability == Durability::Durable;
  const ledger::HistoryStoreOptions options{
      .room = &room, .tables = durable ? ledger::HistoryTables::Few : ledger::HistoryTables::Many};
  GCOORD_TRY(auto store,
             ledger::HistoryStore::open(options_.data_dir + "/history", options_.shards, options));
  GCOORD_TRY_STATUS(history_.open(std::move(store)));
  for (const ShardId shard : ledger_->repaired_shards()) {
    history_.worker().forget(shard);
  }
  return Status{};
}

Status LedgerStack::recovered() {
  history_.recovered();
  // Its thread finds what history lacks: it is waited for, so that --rejoin hears of it.
  GCOORD_TRY_STATUS(history_.settle());
  return history_.service().failure();
}

Status LedgerStack::start(const ReplicatedLog& engine, std::function<void()> wake) {
  const auto history = history_.worker().history();
  return ledger_->start(
      engine.incarnation(),
      publication_,
      {.tree_of = [history](ShardId shard) { return history->reader(shard); },
       .heads_of = [history](std::span<const ShardId> shards) { return history->heads(shards); },
       .heads_at =
           [history](std::span<const ledger::ShardHead> named) {
             return history->heads_at(named);
           }},
      std::move(wake));
}

void LedgerStack::bound(std::uint64_t bytes_max) {
  ledger::NodeBound bound{.bytes_max = bytes_max, .published = {}};
  if (const auto sizes = ledger_->published_sizes(); sizes != nullptr) {
    bound.published = [sizes](ShardId shard) { return sizes->at(shard); };
  }
  history_.worker().bound(std::move(bound));
}

FrontierAt LedgerStack::frontiers() {
  return [history = history_.worker().history()](ShardId shard, std::uint64_t size) {
    return ledger::snapshot_frontier(*history->reader(shard), size);
  };
}

Status LedgerStack::settle() {
  GCOORD_TRY_STATUS(history_.settle());
  return ledger_->settle();
}

Status LedgerStack::pass(ReplicatedLog& engine) {
  const Status status = ledger_->pass(engine, wall_ms());
  if (status.detail() == ledger::kHistoryRepair) {
    engine.turn();  // Tells the others.
  }
  return status;
}

}  // namespace gcoord::server
