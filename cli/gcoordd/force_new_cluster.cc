#include "cli/gcoordd/force_new_cluster.h"

#include "common/text/printable.h"
#include "common/text/utc_text.h"
#include "ledger/base/error_details.h"
#include "ledger/directory/real_directory.h"
#include "protocol/error_codes.h"
#include "server/force/force.h"
#include "server/platform/boot_time.h"

#include <unistd.h>

#include <iomanip>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord {
namespace {

using protocol::ErrorCode;
using server::Forced;
using server::ForceNewCluster;
using server::SurvivorFacts;

constexpr int kNameWidth = 18;

void fact(std::ostream& out, std::string_view name, const std::string& value) {
  out << std::left << std::setw(kNameWidth) << name << shown(value) << "\n";
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::string list_text(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) {
    text += (text.empty() ? "" : ", ") + number(node.value);
  }
  return text.empty() ? "none" : text;
}

std::string node_text(const SurvivorFacts& facts) {
  const protocol::Member* const self = protocol::find_member(facts.view, facts.identity.node);
  return number(facts.identity.node.value) + (self == nullptr ? "" : " \"" + self->name + "\"");
}

void describe(const SurvivorFacts& facts, const std::string& directory, std::ostream& out) {
  fact(out, "data-dir", directory);
  fact(out, "cluster-id", number(facts.identity.cluster.value));
  fact(out, "node", node_text(facts));
  fact(out, "other-nodes", list_text(facts.others));
  fact(out, "view", facts.view.epoch == 0 ? "none" : number(facts.view.epoch));
  fact(out, "durability", facts.identity.keeps_log ? "durable" : "memory");
  fact(out, "turn", facts.resident ? "resident" : "host");
  fact(out, "shards", number(facts.identity.shard_count));
  fact(out, "shards-used", number(facts.shards_used));
  fact(out, "entry-terms", number(facts.entry_terms));
  fact(out, "entries", number(facts.entries));
  fact(out, "entries-decided", number(facts.decided));
  fact(out, "entries-saved", number(facts.checkpoints));
  fact(out, "newest-term", number(facts.term_newest.value));
  fact(out, "newest-entry", facts.newest_ms == 0 ? "unknown" : utc_text(facts.newest_ms));
}

// What may be lost, and what may come to count.
void warn(const SurvivorFacts& facts, std::ostream& err) {
  const std::string self = "node " + number(facts.identity.node.value);
  const std::uint64_t open = facts.entries - facts.decided;
  err << "\nThis makes a new cluster of " << self << " alone, from what its directory has.\n"
      << "  - Lost: whatever the other nodes acknowledged and " << self
      << " does not have. Locks that were granted so\n    are free again, or held by whom they "
         "were "
         "held before.\n"
      << "  - Counts from now on: " << open << " of its entries, which " << self
      << " does not know to be decided. Their clients may have\n    got no answer, or an error.\n";
  if (!facts.identity.keeps_log) {
    err << "  - Durability is memory: the directory has the last checkpoint, and nothing of what "
           "came "
           "after it.\n";
  }
  if (!facts.others.empty()) {
    err << "  - Removed for ever: nodes " << list_text(facts.others)
        << ". Stop them, and delete their directories: a majority of them would go\n    on with "
           "the "
           "old cluster.\n";
  }
  if (facts.resident) {
    err << "  - The directory is of --turn resident, which needs three nodes: the new cluster has "
           "--turn host. Take it\n    back by gcoordctl snapshot save and restore --turn "
           "resident.\n";
  }
  err << "  - Fencing tokens go on rising, above all of the old cluster. Sessions keep their locks "
         "for "
         "one more TTL.\n"
      << "If a majority of the old nodes can still be started, do that instead.\n";
}

Status check_options(const server::Invocation& invocation, const ledger::NodeIdentity& identity) {
  const server::NodeOptions& options = invocation.options;
  const bool names_cluster =
      is_given(invocation, "cluster-id") || is_given(invocation, "cluster-name");
  if (names_cluster && options.cluster != identity.cluster) {
    return Status{StatusCode::FailedPrecondition,
                  "the options name cluster " + number(options.cluster.value) +
                      ", and the data directory " + options.data_dir + " belongs to cluster " +
                      number(identity.cluster.value),
                  ledger::kDirectoryCluster};
  }
  if (is_given(invocation, "node-id") && options.node != identity.node) {
    return Status{StatusCode::FailedPrecondition,
                  "the options name node " + number(options.node.value) +
                      ", and the data directory " + options.data_dir + " belongs to node " +
                      number(identity.node.value),
                  ledger::kDirectoryNode};
  }
  return Status{};
}

Result<std::string> confirmation(const server::ForceFlags& flags, const ForceTerminal& terminal) {
  if (flags.confirm) {
    return *flags.confirm;
  }
  terminal.err << "\nType the id of the cluster that is given up: " << std::flush;
  auto typed = terminal.ask();
  if (!typed || typed->empty()) {
    terminal.err << "\n";
    return protocol::make_error(
        ErrorCode::ForceUnconfirmed,
        typed ? "nothing was typed" : "nobody is there to type it: give --confirm CLUSTERID");
  }
  return *std::move(typed);
}

// By an earlier one, which may have died behind its exchange.
void tell_finished(const ForceNewCluster& force, const ForceTerminal& terminal) {
  terminal.err << "The new cluster is made already, and its node was not started yet: start it.\n";
  fact(terminal.out, "new-cluster-id", number(force.facts().identity.cluster.value));
  if (force.former()) {
    fact(terminal.out, "retired-id", number(force.former()->cluster.value));
  }
  if (ledger::is_taken(*force.finished())) {
    fact(terminal.out, "old-directory", *force.finished());
  }
}

// Certificates name the cluster, and this one has another id.
void tell_trust(const server::NodeOptions& options,
                const std::string& cluster,
                const ForceTerminal& terminal) {
  if (options.tls.files.certificate.empty()) {
    return;
  }
  terminal.err << "\nThe certificate " << shown(options.tls.files.certificate)
               << " names the old cluster. Clients go on with it; for other nodes with\n--peer-tls "
                  "make new ones first:\n  gcoordctl cert ca --dir ca-"
               << cluster << " --cluster-id " << cluster << "\n";
}

void tell_done(const Forced& forced, const std::string& directory, const ForceTerminal& terminal) {
  const std::string cluster = number(forced.cluster.value);
  fact(terminal.out, "new-cluster-id", cluster);
  fact(terminal.out, "retired-id", number(forced.former.value));
  fact(terminal.out, "sessions", number(forced.restored.sessions));
  fact(terminal.out, "locks", number(forced.restored.locks));
  fact(terminal.out, "moves-settled", number(forced.restored.moves_settled));
  fact(terminal.out, "moves-lost", number(forced.restored.moves_lost));
  fact(terminal.out, "old-directory", forced.kept);
  const std::string turn = forced.resident ? " --turn host" : "";
  fact(terminal.out, "start", "gcoordd --data-dir " + directory + turn);
  terminal.err
      << "\nStart the node, with its listen addresses as before. Where its options or those "
         "of clients name the\nold cluster, give cluster_id = \""
      << cluster
      << "\" instead. Then add nodes: gcoordctl member add.\nOnce the new cluster has what you "
         "need: rm -r "
      << shown(forced.kept) << "\n";
}

}  // namespace

Status force_new_cluster(const server::Invocation& invocation, const ForceTerminal& terminal) {
  GCOORD_TRY(const std::string directory, ledger::real_directory(invocation.options.data_dir));
  const bool inspects = invocation.force.dry_run;
  GCOORD_TRY(const auto force,
             ForceNewCluster::open(
                 directory,
                 inspects ? ForceNewCluster::Purpose::Inspect : ForceNewCluster::Purpose::Make));
  if (force->finished()) {
    tell_finished(*force, terminal);
    return Status{};
  }
  GCOORD_TRY_STATUS(check_options(invocation, force->facts().identity));
  describe(force->facts(), directory, terminal.out);
  if (force->former()) {
    fact(terminal.out, "former-cluster-id", number(force->former()->cluster.value));
  }
  warn(force->facts(), terminal.err);
  terminal.out << std::flush;
  if (inspects) {
    return Status{};
  }
  server::ForceOrder order;
  GCOORD_TRY(order.confirmation, confirmation(invocation.force, terminal));
  order.time_ms = server::wall_ms();
  GCOORD_TRY(const Forced forced, force->make(order));
  tell_done(forced, directory, terminal);
  tell_trust(invocation.options, std::to_string(forced.cluster.value), terminal);
  return Status{};
}

ForceTerminal standard_terminal() {
  return {.out = std::cout, .err = std::cerr, .ask = []() -> std::optional<std::string> {
            if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
              return std::nullopt;
            }
            std::string line;
            return std::getline(std::cin, line) ? std::optional(std::move(line)) : std::nullopt;
          }};
}

}  // namespace gcoord
