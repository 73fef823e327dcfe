// gcoordctl ledger prune: has nodes let go of old entries, beside what their --ledger-keep does.
//
// Through the client port, since it changes something: the ledger's port only shows. Every node
// keeps a ledger of its own, so all are asked, one after the other, unless one is named. While
// rights are checked a pruning takes an order, which the first run makes, and a second person or a
// delay.
#include "cli/terminal/ledger_flags.h"
#include "cli/terminal/named_nodes.h"
#include "common/text/utc_text.h"
#include "ledger/base/keep_policy.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

struct PruneFlags {
  std::optional<std::uint32_t> shard;
  bool cluster_log = false;
  std::optional<std::uint64_t> below;
  std::string keep;
  std::uint32_t node = 0;  // 0: all.
  bool confirm = false;    // Confirm somebody else's order first.
  bool cancel = false;     // Cancel the order, and prune nothing.
  bool pending = false;    // List the orders.
};

Result<client::LedgerPruning> order_of(const PruneFlags& flags) {
  if (flags.keep.empty() && !flags.below) {
    return protocol::make_error(protocol::ErrorCode::OptionMissing, "--keep or --below");
  }
  client::LedgerPruning order{.cluster_log = flags.cluster_log,
                              .shard = flags.shard,
                              .below_index = flags.below.value_or(0)};
  if (!flags.keep.empty()) {
    const auto keep = ledger::parse_keep_policy(flags.keep);
    if (!keep.ok() || keep.value().keeps_all()) {
      return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                  "--keep is entries:N, bytes:N or age:TIME, not " + flags.keep);
    }
    order.entries_kept = keep.value().entries;
    order.bytes_kept = keep.value().bytes;
    order.age_ms = keep.value().age_ms;
  }
  return order;
}

// What the nodes answered, and the first failure, which the exit code is of.
struct PruneRows {
  Json json = Json::array();
  Table table{{"NODE", "LOGS", "PRUNED", "KEPT", "DAMAGED", "ERROR"}, {}, {}, {}};
  client::Status failure;

  void add(std::uint32_t node, const client::Result<client::LedgerPruned>& pruned) {
    const std::string name = std::to_string(node);
    if (!pruned.ok()) {
      failure = failure.ok() ? pruned.status() : failure;
      json.push_back({{"node", node}, {"error", pruned.status().to_string()}});
      table.rows.push_back({name, "-", "-", "-", "-", pruned.status().to_string()});
      return;
    }
    const client::LedgerPruned& done = pruned.value();
    json.push_back({{"node", node},
                    {"logs", std::to_string(done.logs)},
                    {"pruned", std::to_string(done.entries)},
                    {"kept", std::to_string(done.kept)},
                    {"damaged", std::to_string(done.damaged)}});
    table.rows.push_back({name,
                          std::to_string(done.logs),
                          std::to_string(done.entries),
                          std::to_string(done.kept),
                          std::to_string(done.damaged),
                          ""});
  }
};

bool is_code(const client::Status& status, protocol::ErrorCode code) {
  return status.detail() == static_cast<std::uint32_t>(code);
}

bool same_bounds(const client::LedgerPruning& a, const client::LedgerPruning& b) {
  return a.cluster_log == b.cluster_log && a.shard == b.shard && a.below_index == b.below_index &&
         a.entries_kept == b.entries_kept && a.bytes_kept == b.bytes_kept && a.age_ms == b.age_ms;
}

std::string log_text(const client::LedgerPruning& pruning) {
  return pruning.cluster_log ? "cluster"
         : pruning.shard     ? "shard " + std::to_string(*pruning.shard)
                             : "all shards";
}

std::string bounds_text(const client::LedgerPruning& pruning) {
  std::string text;
  const std::pair<const char*, std::uint64_t> bounds[] = {{"below ", pruning.below_index},
                                                          {"entries:", pruning.entries_kept},
                                                          {"bytes:", pruning.bytes_kept},
                                                          {"age_ms:", pruning.age_ms}};
  for (const auto& [name, number] : bounds) {
    if (number != 0) {
      text += (text.empty() ? "" : ",") + (name + std::to_string(number));
    }
  }
  return text;
}

// When nodes prune by it that nobody confirms, by the delay of the node that answered.
Json json_of(const client::LedgerPruneOrder& order, std::uint64_t delay_ms) {
  const client::LedgerPruning& pruning = order.pruning;
  return {{"log", log_text(pruning)},
          {"below", std::to_string(pruning.below_index)},
          {"entries", std::to_string(pruning.entries_kept)},
          {"bytes", std::to_string(pruning.bytes_kept)},
          {"age_ms", std::to_string(pruning.age_ms)},
          {"ordered_by", order.who},
          {"ordered_ms", std::to_string(order.ordered_ms)},
          {"confirmed_by", order.confirmed_by},
          {"due_ms", std::to_string(order.ordered_ms + delay_ms)},
          {"until_ms", std::to_string(order.until_ms)}};
}

Table order_table() {
  return {{"LOG", "BOUNDS", "ORDERED BY", "CONFIRMED BY", "WAITS UNTIL", "ENDS"}, {}, {}, {}};
}

void add_order(Table& table, const client::LedgerPruneOrder& order, std::uint64_t delay_ms) {
  table.rows.push_back({log_text(order.pruning),
                        bounds_text(order.pruning),
                        order.who,
                        order.confirmed_by.empty() ? "-" : order.confirmed_by,
                        order.confirmed_by.empty() ? utc_text(order.ordered_ms + delay_ms) : "-",
                        utc_text(order.until_ms)});
}

// Lists the orders, behind a change of one of them if there is one.
int print_orders(Context& context, const client::PruneOrderChange& change) {
  auto client = context.connect();
  if (!client) {
    return context.exit_code();
  }
  const auto report = client->prune_orders(change);
  if (!report.ok()) {
    return context.fail(*client, report.status());
  }
  Json orders = Json::array();
  Table table = order_table();
  for (const client::LedgerPruneOrder& order : report.value().orders) {
    orders.push_back(json_of(order, report.value().delay_ms));
    add_order(table, order, report.value().delay_ms);
  }
  context.output().print(Json{{"nodes", Json::array()}, {"orders", orders}}, table);
  return 0;
}

// One pruning of nodes, with the order that it takes.
class Pruning {
 public:
  Pruning(Context& context, const PruneFlags& flags, client::LedgerPruning order)
      : context_(context),
        flags_(flags),
        order_(order),
        deadline_(std::chrono::steady_clock::now() + context.timeout()) {}

  // At the next node, unless an order was made or refused.
  void visit(client::Client& client, std::uint32_t node) {
    if (flags_.confirm && !confirmed_) {
      confirmed_ = true;
      confirm(client);
    }
    if (refused_ || made_) {
      return;
    }
    const auto pruned = prune(client, node);
    if (may_order(client, pruned.status())) {
      make_order(client, node);
    } else {
      rows_.add(node, pruned);
      has_pruned_ = has_pruned_ || pruned.ok();
    }
  }

  int print() const {
    if (refused_) {
      return *refused_;
    }
    if (!made_) {
      context_.output().print(Json{{"nodes", rows_.json}}, rows_.table);
      return code_of(rows_.failure);
    }
    Table table = order_table();
    add_order(table, *made_, delay_ms_);
    context_.output().print(Json{{"nodes", rows_.json}, {"order", json_of(*made_, delay_ms_)}},
                            table);
    // As of GC6748.
    return static_cast<int>(protocol::ExitCode::Unavailable);
  }

 private:
  static bool is_confirmed(const std::optional<client::LedgerPruneOrder>& order) {
    return order && !order->confirmed_by.empty();
  }

  // The same again is no failure: whoever was answered by some nodes goes on with the others.
  void confirm(client::Client& client) {
    const auto confirmed =
        client.prune_orders({.action = client::PruneOrderAction::Confirm, .pruning = order_});
    const bool again = is_code(confirmed.status(), protocol::ErrorCode::PruneOrderRefused) &&
                       is_confirmed(order_now(client));
    if (!again) {
      refuse(client, confirmed.status());
    }
  }

  // As the leader has it; nothing: there is none with these bounds, or it cannot be learnt.
  std::optional<client::LedgerPruneOrder> order_now(client::Client& client) {
    const auto report =
        client.prune_orders({.action = client::PruneOrderAction::List, .pruning = {}});
    return report.ok() ? find_order(report.value()) : std::nullopt;
  }

  std::optional<client::LedgerPruneOrder> find_order(const client::PruneOrdersReport& report) {
    delay_ms_ = report.delay_ms;
    for (const client::LedgerPruneOrder& each : report.orders) {
      if (same_bounds(each.pruning, order_)) {
        return each;
      }
    }
    return std::nullopt;
  }

  // Whether the node's refusal is not of what the leader has: it hears of orders a moment later.
  bool is_behind(client::Client& client, const client::Status& refusal) {
    if (is_code(refusal, protocol::ErrorCode::PruneNotOrdered)) {
      return flags_.confirm || order_now(client).has_value();
    }
    return is_code(refusal, protocol::ErrorCode::PruneWaits) &&
           (flags_.confirm || is_confirmed(order_now(client)));
  }

  // A node that goes on refusing is not behind: by its clock the order has ended.
  client::Result<client::LedgerPruned> prune(client::Client& client, std::uint32_t node) {
    constexpr std::chrono::milliseconds kAgain{50};
    constexpr std::chrono::seconds kBehindMax{3};
    const auto until = std::min(deadline_, std::chrono::steady_clock::now() + kBehindMax);
    for (;;) {
      auto pruned = client.prune_ledger(node, order_);
      if (pruned.ok() || std::chrono::steady_clock::now() >= until ||
          !is_behind(client, pruned.status())) {
        return pruned;
      }
      std::this_thread::sleep_for(kAgain);
    }
  }

  // Never once a node has pruned: then there was an order, which somebody has cancelled meanwhile.
  bool may_order(client::Client& client, const client::Status& refusal) {
    return !flags_.confirm && !has_pruned_ &&
           is_code(refusal, protocol::ErrorCode::PruneNotOrdered) && !order_now(client);
  }

  void make_order(client::Client& client, std::uint32_t node) {
    const auto report =
        client.prune_orders({.action = client::PruneOrderAction::Order, .pruning = order_});
    if (is_code(report.status(), protocol::ErrorCode::PruneOrderRefused) && order_now(client)) {
      rows_.add(node, prune(client, node));  // Somebody was faster.
      return;
    }
    refuse(client, report.status());
    if (!report.ok()) {
      return;
    }
    made_ = find_order(report.value());
    if (!made_) {
      refused_ = context_.fail(protocol::make_error(protocol::ErrorCode::PruneNotOrdered,
                                                    "somebody cancelled it at once"));
    }
  }

  // What nodes have answered is not hidden by it.
  void refuse(const client::Client& client, const client::Status& status) {
    if (status.ok()) {
      return;
    }
    if (!rows_.json.empty()) {
      context_.output().print(Json{{"nodes", rows_.json}}, rows_.table);
    }
    refused_ = context_.fail(client, status);
  }

  Context& context_;
  const PruneFlags& flags_;
  client::LedgerPruning order_;
  std::chrono::steady_clock::time_point deadline_;
  PruneRows rows_;
  bool confirmed_ = false;
  bool has_pruned_ = false;
  std::optional<int> refused_;  // The program's exit code; why has been printed.
  std::optional<client::LedgerPruneOrder> made_;
  std::uint64_t delay_ms_ = 0;
};

int prune(Context& context, const PruneFlags& flags) {
  if (flags.pending) {
    return print_orders(context, {.action = client::PruneOrderAction::List, .pruning = {}});
  }
  const auto order = order_of(flags);
  if (!order.ok()) {
    return context.fail(order.status());
  }
  if (flags.cancel) {
    return print_orders(context,
                        {.action = client::PruneOrderAction::Cancel, .pruning = order.value()});
  }
  Pruning pruning{context, flags, order.value()};
  const auto refused =
      ask_nodes(context, flags.node, [&](client::Client& client, std::uint32_t node) {
        pruning.visit(client, node);
      });
  return refused ? *refused : pruning.print();
}

}  // namespace

void add_ledger_prune(Command& ledger, Context& context) {
  auto flags = std::make_shared<PruneFlags>();
  Command* verb = ledger.add_subcommand(
      "prune",
      "delete old entries on the nodes for good, oldest first, 256 at a time; entries that a node "
      "may need for recovery stay; kept entries can be proved as before, requests for deleted ones "
      "get GC8101; --timeout bounds each node's answer; while rights are checked the first run "
      "makes an "
      "order, and nodes prune once somebody else has confirmed it or a day is over");
  auto* shard =
      verb->add_option("--shard", flags->shard, "prune only this shard (default: all shards)");
  verb->add_flag(
          "--cluster-log", flags->cluster_log, "prune the log of published heads, not the shards")
      ->excludes(shard);
  verb->add_option("--below",
                   flags->below,
                   "prune entries with a smaller index; needs --shard or --cluster-log")
      ->type_name("INDEX");
  verb->add_option("--keep",
                   flags->keep,
                   "part of each log to keep: entries:N, bytes:N[KiB|MiB|GiB|TiB], age:TIME, "
                   "or several separated by commas, of which the tightest applies")
      ->type_name("BOUNDS");
  verb->add_option("--node", flags->node, "prune only on this node (default: on all nodes)")
      ->type_name("ID");
  auto* confirm = verb->add_flag("--confirm",
                                 flags->confirm,
                                 "confirm the order with these bounds that somebody else has made, "
                                 "and prune; only where rights are checked");
  auto* cancel = verb->add_flag("--cancel", flags->cancel, "cancel the order with these bounds")
                     ->excludes(confirm);
  verb->add_flag("--pending", flags->pending, "list the orders, and prune nothing")
      ->excludes(confirm)
      ->excludes(cancel);
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return prune(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
