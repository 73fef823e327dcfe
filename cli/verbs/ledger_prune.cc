// gcoordctl ledger prune: has nodes let go of old entries, beside what their --ledger-keep does.
//
// Through the client port, since it changes something: the ledger's port only shows. Every node
// keeps a ledger of its own, so all are asked, one after the other, unless one is named.
#include "cli/terminal/ledger_flags.h"
#include "cli/terminal/named_nodes.h"
#include "ledger/base/keep_policy.h"
#include "protocol/error_codes.h"

#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

struct PruneFlags {
  std::optional<std::uint32_t> shard;
  bool cluster_log = false;
  std::optional<std::uint64_t> below;
  std::string keep;
  std::uint32_t node = 0;  // 0: all.
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

int prune(Context& context, const PruneFlags& flags) {
  const auto order = order_of(flags);
  if (!order.ok()) {
    return context.fail(order.status());
  }
  PruneRows rows;
  const auto refused =
      ask_nodes(context, flags.node, [&](client::Client& client, std::uint32_t node) {
        rows.add(node, client.prune_ledger(node, order.value()));
      });
  if (refused) {
    return *refused;
  }
  context.output().print(Json{{"nodes", rows.json}}, rows.table);
  return code_of(rows.failure);
}

}  // namespace

void add_ledger_prune(Command& ledger, Context& context) {
  auto flags = std::make_shared<PruneFlags>();
  Command* verb = ledger.add_subcommand(
      "prune",
      "delete old entries on the nodes for good, oldest first, 256 at a time; entries that a node "
      "may need for recovery stay; kept entries can be proved as before, requests for deleted ones "
      "get GC8101; --timeout bounds each node's answer");
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
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return prune(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
