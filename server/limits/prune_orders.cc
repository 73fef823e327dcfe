#include "server/limits/prune_orders.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "server/interfaces/replies.h"
#include "server/limits/command_errors.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using protocol::PruneOrderAction;
using protocol::PruneOrdersAnswer;
using security::LimitCode;
using security::LimitCommand;
using security::LimitKind;
using security::PruneBounds;
using security::PruneOrder;

static_assert(security::kPruneOrdersMax <= protocol::kPruneOrderRowsMax);

LimitKind kind_of(PruneOrderAction action) {
  switch (action) {
    case PruneOrderAction::Confirm:
      return LimitKind::ConfirmPrune;
    case PruneOrderAction::Cancel:
      return LimitKind::CancelPrune;
    default:
      return LimitKind::OrderPrune;
  }
}

protocol::LedgerPrune pruning_of(const PruneBounds& bounds) {
  return {.log = static_cast<protocol::LedgerLog>(bounds.log),
          .shard = bounds.shard,
          .below = bounds.below,
          .entries = bounds.entries,
          .bytes = bounds.bytes,
          .age_ms = bounds.age_ms};
}

std::string text_of(const PruneBounds& bounds) {
  return protocol::prune_text(pruning_of(bounds));
}

protocol::PruneOrderRow row_of(const PruneBounds& bounds, const PruneOrder& order) {
  return {.bounds = pruning_of(bounds),
          .who = order.who,
          .ordered_ms = order.ordered_ms,
          .confirmed_by = order.confirmed_by,
          .confirmed_ms = order.confirmed_ms,
          .until_ms = order.until_ms()};
}

}  // namespace

PruneBounds prune_bounds(const protocol::LedgerPrune& order) {
  return {.log = static_cast<std::uint8_t>(order.log),
          .shard = order.shard,
          .below = order.below,
          .entries = order.entries,
          .bytes = order.bytes,
          .age_ms = order.age_ms};
}

PruneOrders::PruneOrders(Environment environment, const std::string& data_dir)
    : environment_(std::move(environment)), sights_(data_dir) {
  for (const auto& [bounds, order] : environment_.machine.table().prunes) {
    seen_[bounds] = see(bounds, order);
  }
  keep_sights();
}

void PruneOrders::keep_sights() {
  std::vector<OrderSight> sights;
  for (const auto& [bounds, seen] : seen_) {
    sights.push_back({.bounds = bounds,
                      .who = seen.order.who,
                      .ordered_ms = seen.order.ordered_ms,
                      .seen_ms = seen.since_ms});
  }
  sights_.keep(std::move(sights), environment_.wall_ms());
}

// One that this life of the node has not seen before, or not so. What it had before an upgrade
// waits from now on, too.
PruneOrders::Seen PruneOrders::see(const PruneBounds& bounds, const PruneOrder& order) const {
  const auto seen_ms = sights_.seen_ms(bounds, order);
  if (!seen_ms) {
    log_warning(LogComponent::Node,
                "{} has ordered to prune the ledger, {}: gcoordctl ledger prune --pending",
                shown(order.who),
                text_of(bounds));
  }
  return {.order = order, .since_ms = seen_ms.value_or(environment_.wall_ms())};
}

void PruneOrders::on_limits() {
  const auto& orders = environment_.machine.table().prunes;
  SeenOrders seen;
  for (const auto& [bounds, order] : orders) {
    const auto found = seen_.find(bounds);
    const bool known = found != seen_.end() && found->second.order.who == order.who &&
                       found->second.order.ordered_ms == order.ordered_ms;
    if (known && order.is_confirmed() && !found->second.order.is_confirmed()) {
      log_warning(LogComponent::Node,
                  "{} has confirmed the order of {} to prune the ledger, {}",
                  shown(order.confirmed_by),
                  shown(order.who),
                  text_of(bounds));
    }
    seen[bounds] =
        known ? Seen{.order = order, .since_ms = found->second.since_ms} : see(bounds, order);
  }
  for (const auto& [bounds, was] : seen_) {
    if (!orders.contains(bounds) && was.order.until_ms() > environment_.wall_ms()) {
      log_warning(LogComponent::Node,
                  "the order of {} to prune the ledger, {}, was cancelled",
                  shown(was.order.who),
                  text_of(bounds));
    }
  }
  seen_ = std::move(seen);
  keep_sights();
}

// An order of a clock that is ahead of this node's waits for longer, never for less.
Status PruneOrders::permits(const protocol::LedgerPrune& order) const {
  const auto& orders = environment_.machine.table().prunes;
  const std::uint64_t now_ms = environment_.wall_ms();
  const auto found = orders.find(prune_bounds(order));
  if (found == orders.end() || found->second.until_ms() <= now_ms) {
    return protocol::make_error(ErrorCode::PruneNotOrdered);
  }
  const PruneOrder& given = found->second;
  const auto seen = seen_.find(found->first);
  const std::uint64_t since_ms = seen == seen_.end() ? now_ms : seen->second.since_ms;
  const std::uint64_t due_ms = std::max(given.ordered_ms, since_ms) + environment_.delay_ms;
  if (given.is_confirmed() || due_ms <= now_ms) {
    return {};
  }
  return protocol::make_error(ErrorCode::PruneWaits,
                              "ordered by " + shown(given.who) +
                                  "; somebody else may confirm it, or it waits for " +
                                  std::to_string((due_ms - now_ms + 999) / 1000) + " s");
}

void PruneOrders::on_request(protocol::ConnectionId connection,
                             const protocol::RequestSlot& request,
                             std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == protocol::RequestKind::LedgerOrders);
  const Asker asker{connection, request};
  if (request.flags != 0) {
    return refuse_asker(environment_.replies, asker, protocol::make_error(ErrorCode::SlotInvalid));
  }
  const auto query = protocol::decode_prune_orders_query(payload);
  if (!query.ok()) {
    return refuse_asker(environment_.replies, asker, query.status());
  }
  const ShardView shard = environment_.log.view(kLimitsShard);
  if (shard.role != consensus::Role::Leader) {
    environment_.replies.reply(connection, not_leader_reply(request, shard.leader), {});
  } else if (query.value().action == PruneOrderAction::List) {
    answer(asker);
  } else {
    change(asker, query.value());
  }
}

void PruneOrders::answer(const Asker& asker) const {
  const security::LimitTable& table = environment_.machine.table();
  const std::uint64_t now_ms = environment_.wall_ms();
  PruneOrdersAnswer said{.epoch = table.epoch, .delay_ms = environment_.delay_ms, .orders = {}};
  for (const auto& [bounds, order] : table.prunes) {
    if (order.until_ms() > now_ms) {
      said.orders.push_back(row_of(bounds, order));
    }
  }
  protocol::ReplySlot reply = protocol::reply_to(asker.request);
  reply.extra = said.epoch;
  environment_.replies.reply(asker.connection, reply, protocol::encode_prune_orders_answer(said));
}

Status PruneOrders::check(const LimitCommand& command) const {
  if (command.kind != LimitKind::CancelPrune && !environment_.rights_on()) {
    return protocol::make_error(ErrorCode::PruneOrderRefused,
                                "rights are not checked, and nodes prune without an order");
  }
  const bool takes = environment_.log.abilities().takes_records;
  const bool known = security::has_safeguards(environment_.machine.table());
  if (!takes || (!known && !environment_.all_guard())) {
    return protocol::make_error(ErrorCode::SafeguardsNotReady);
  }
  return changes_.size() < kChangesMax ? Status{} : protocol::make_error(ErrorCode::Overloaded);
}

// By the connection as it is now: one that is somebody else by now orders as that one.
void PruneOrders::complete(LimitCommand& command, protocol::ConnectionId connection) const {
  command.expected = environment_.machine.table().epoch;
  command.now_ms = environment_.wall_ms();
  command.who = environment_.proven ? environment_.proven(connection) : std::string{};
  command.proven = !command.who.empty();
}

void PruneOrders::change(const Asker& asker, const protocol::PruneOrdersQuery& query) {
  Change change{.asker = asker, .command = {}};
  change.command.kind = kind_of(query.action);
  change.command.number = query.number;
  change.command.prune = prune_bounds(query.bounds);
  complete(change.command, asker.connection);
  const security::LimitCpu& state = environment_.machine.state_of_limits();
  if (state.made_by(query.number)) {
    return answer(asker);  // Its first answer was lost.
  }
  if (const Status status = check(change.command); !status.ok()) {
    return refuse_asker(environment_.replies, asker, status);
  }
  if (const LimitCode code = state.preview(change.command); code != LimitCode::Applied) {
    return end(change, code);
  }
  propose(std::move(change));
}

void PruneOrders::propose(Change change) {
  const LimitCommand& command = change.command;
  const protocol::RecordOrigin origin = environment_.replies.origin(change.asker.connection);
  const auto record = limits_record(encode_limit_command(command), origin, command.now_ms);
  const std::uint64_t cookie = cookies_.next();
  ++change.attempts;
  changes_.emplace(cookie, std::move(change));
  environment_.log.propose(kLimitsShard, record, cookie);
}

void PruneOrders::end(const Change& change, LimitCode code) const {
  const security::LimitCpu& state = environment_.machine.state_of_limits();
  if (code == LimitCode::Applied || state.made_by(change.command.number)) {
    return answer(change.asker);
  }
  refuse_asker(
      environment_.replies, change.asker, limits_error(code, change.command, state.table().epoch));
}

void PruneOrders::on_decided(std::uint64_t cookie, LimitCode code) {
  auto found = changes_.extract(cookie);
  if (found.empty()) {
    return;
  }
  Change& change = found.mapped();
  if (code == LimitCode::Stale && change.attempts < kAttemptsMax) {
    const std::string who = change.command.who;
    complete(change.command, change.asker.connection);
    if (change.command.who == who) {
      return propose(std::move(change));
    }
    code = LimitCode::PruneUnproven;  // The gate has judged another principal.
  }
  end(change, code);
}

void PruneOrders::on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (auto found = changes_.extract(cookie); !found.empty()) {
    const Asker& asker = found.mapped().asker;
    environment_.replies.reply(
        asker.connection, engine_refusal(asker.request, status, leader_hint), {});
  }
}

}  // namespace gcoord::server
