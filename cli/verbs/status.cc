// gcoordctl status: what every node of the cluster says of itself, and which ones say nothing. It
// exits with 3 when there are such, after it has printed all that is known.
#include "cli/terminal/command.h"
#include "cli/verbs/status_ledger.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace gcoord::cli {

namespace {

// How long the nodes beyond the first get to answer: a status must not hang on a dead node.
constexpr std::chrono::milliseconds kOthersTimeout{1000};

std::string text_of(const Json& node, const char* field) {
  if (!node.contains(field)) {
    return "-";
  }
  return node[field].is_string() ? node[field].text() : node[field].dump();
}

std::string reach_text(const Json& node) {
  if (node.value("refused", false)) {
    return "yes, and shows nothing";
  }
  return node.value("reachable", false) ? "yes" : text_of(node, "error");
}

// `refused`: whether the node answers and refuses it for a right.
Json describe(client::Client& client, const client::NodeView& node, bool& refused) {
  refused = false;
  Json json = {{"node", node.node_id}, {"endpoint", node.address}};
  if (!node.connected) {
    json["reachable"] = false;
    json["error"] = node.last_error.empty() ? "not connected" : node.last_error;
    return json;
  }
  const auto status = client.node_status(node.node_id);
  json["reachable"] = status.ok();
  if (!status.ok()) {
    refused =
        status.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::NotAllowed);
    json["error"] = status.status().to_string();
    if (refused) {
      json["refused"] = true;
    }
    return json;
  }
  const Json told = parse_json(status.value());
  if (told.is_object()) {
    merge_members(json, told);
  }
  return json;
}

// "cpu", or "cuda:0 41 MiB"; with " resident" for a turn that stays there.
std::string stepper_of(const Json& node) {
  const std::string turn = node.value("turn", std::string{"host"});
  const std::string name = text_of(node, "stepper") + (turn == "resident" ? " resident" : "");
  if (!node.contains("device") || !node["device"].is_object()) {
    return name;
  }
  const std::string bytes = text_of(node["device"], "memory_bytes");
  return name + " " + std::to_string(std::strtoull(bytes.c_str(), nullptr, 10) >> 20) + " MiB";
}

// Of a node with a device, what that does beside stepping.
std::string sweeps_of(const Json& node) {
  const Json sweeps = node["device"].value("sweeps", Json::object());
  if (!sweeps.value("on_device", false)) {
    return "the host scans for expired sessions and deadlocks";
  }
  return "scanned all sessions " + text_of(sweeps, "sessions") + " times and for deadlocks " +
         text_of(sweeps, "waits") + " times";
}

// A line for each device and each resident turn, and one for each way between two nodes with them.
std::vector<std::string> device_notes(const Json& nodes) {
  std::vector<std::string> notes;
  for (const Json& node : nodes) {
    const bool device = node.contains("device") && node["device"].is_object();
    const bool resident = node.value("turn", std::string{"host"}) == "resident";
    if (!device && !resident) {
      continue;
    }
    const std::string prefix = "node " + text_of(node, "node") + ": ";
    const std::string name = device ? " is " + text_of(node["device"], "name") + "; " : ": ";
    notes.push_back(prefix + text_of(node, "stepper") + name + text_of(node, "stepper_reason"));
    if (device) {
      notes.push_back(prefix + text_of(node, "stepper") + ": " + sweeps_of(node));
    }
    for (const Json& peer : node.value("peers", Json::array())) {
      const std::string link = peer.value("device_link", std::string{});
      if (!link.empty()) {
        notes.push_back(
            prefix + "to node " + text_of(peer, "node") + " over " + text_of(peer, "transport") +
            (resident ? "; shards over " : ", shards too; a device channel is ") + link);
      }
    }
  }
  return notes;
}

// What the nodes say; they refuse each other if they differ.
std::string durability_of(const Json& nodes) {
  for (const Json& node : nodes) {
    if (node.contains("durability")) {
      return text_of(node, "durability");
    }
  }
  return "unknown";
}

// "all with a leader": what the nodes that answer lead.
std::string leaders_of(const Json& nodes, std::uint64_t shard_count) {
  std::uint64_t led = 0;
  for (const Json& node : nodes) {
    led += unsigned_of(node["leaders"]).value_or(0);
  }
  return led >= shard_count ? "all with a leader"
                            : std::to_string(led) + " of them led by nodes that answer";
}

// Whether any node may have forgotten what it promised: always in memory mode, and once a data
// directory was replaced.
bool readmits(const Json& nodes) {
  return std::any_of(
      nodes.begin(), nodes.end(), [](const Json& node) { return node.contains("memory"); });
}

// "node 2 rejoins without its old data directory: 1200 of 65536 shards are left".
void add_rejoining(std::vector<std::string>& notes, const Json& nodes, std::uint32_t shard_count) {
  for (const Json& node : nodes) {
    const Json memory = node.value("memory", Json::object());
    if (memory.value("rejoining", false)) {
      notes.push_back("node " + text_of(node, "node") +
                      " rejoins without its old data directory: " + text_of(memory, "forgotten") +
                      " of " + std::to_string(shard_count) + " shards are left");
    }
  }
}

// A line for each node whose disk is too full for new locks.
void add_low_disks(std::vector<std::string>& notes, const Json& nodes) {
  for (const Json& node : nodes) {
    const Json disk = node.value("disk", Json::object());
    if (disk.value("low", false)) {
      const std::string free = disk.value("free_bytes", std::string{"0"});
      const bool used = disk.value("reserve_bytes", std::string{"0"}) == "0";
      notes.push_back(
          "node " + text_of(node, "node") +
          ": WARNING: its disk is almost full, so it takes no new sessions and locks: " +
          std::to_string(std::strtoull(free.c_str(), nullptr, 10) >> 20) + " MiB are free" +
          (used ? ", its reserve among them" : ""));
    }
  }
}

// A line for each fault of a node's GPU, and one where others have it, too.
void add_gpus(std::vector<std::string>& notes, const Json& nodes) {
  for (const Json& node : nodes) {
    const Json gpu = node.value("gpu", Json{});
    if (!gpu.is_object()) {
      continue;
    }
    const std::string prefix = "node " + text_of(node, "node") + ": WARNING: its GPU: ";
    for (const Json& each : gpu.value("conditions", Json::array())) {
      notes.push_back(prefix + text_of(each, "fault") + ": " + text_of(each, "evidence") +
                      "; by --gpu-policy: " + text_of(each, "action"));
    }
    if (gpu.value("shared", false)) {
      notes.push_back(prefix + "other processes have contexts there without MPS");
    }
  }
}

// A line for each alarm that is armed at any node, once.
void add_alarms(std::vector<std::string>& notes, const Json& nodes) {
  std::set<std::string> said;
  for (const Json& node : nodes) {
    const Json detector = node.value("detector", Json{});
    const Json alarms =
        detector.is_object() ? detector.value("alarms", Json::array()) : Json::array();
    for (const Json& alarm : alarms) {
      const std::string name = text_of(alarm, "kind") + ":" + text_of(alarm, "node");
      if (alarm.value("armed", false) && said.insert(name).second) {
        notes.push_back("WARNING: alarm " + name + ": " + text_of(alarm, "text") +
                        " (gcoordctl alarm list)");
      }
    }
  }
}

// What it did since it started; nothing is said of a node that met none.
void add_deadlocks(std::vector<std::string>& notes, const Json& nodes) {
  for (const Json& node : nodes) {
    const Json counts = node.value("deadlocks", Json::object());
    const std::string ended = counts.value("ended", std::string{"0"});
    const std::string oversized = counts.value("oversized", std::string{"0"});
    if (ended != "0" || oversized != "0") {
      notes.push_back(
          "node " + text_of(node, "node") + " ended " + ended +
          " deadlocks (gcoordctl lock deadlocks); deadlocks too large to be ended: " + oversized);
    }
  }
}

// Who coordinates, as the nodes say it; a line where they elect, and one where they differ in how.
void add_coordinators(std::vector<std::string>& notes, const Json& nodes) {
  for (const Json& node : nodes) {
    const Json told = node.value("coordinator", Json::object());
    const std::string method = told.value("method", std::string{"raft"});
    const std::string prefix = "node " + text_of(node, "node") + ": ";
    if (method != "raft") {
      const std::string who = text_of(told, "node");
      const Json sent = told.value("sent", Json::object());
      notes.push_back(
          prefix + (who == "0" ? "knows no coordinator" : "coordinator is node " + who) + ", by " +
          method + "; candidacies " + text_of(told, "elections") + ", won " + text_of(told, "won") +
          "; messages sent: election " + text_of(sent, "election") + ", answer " +
          text_of(sent, "answer") + ", coordinator " + text_of(sent, "coordinator") + ", again " +
          text_of(sent, "again"));
    }
    for (const Json& other : told.value("others", Json::array())) {
      notes.push_back(prefix + "WARNING: elects its coordinator by " + method + ", but node " +
                      text_of(other, "node") + " by " + text_of(other, "method") +
                      "; give all nodes the same --coordinator");
    }
  }
}

// "65536/65536", the shards in which a node votes, to which one that has forgotten what it promised
// has to be re-admitted; and those for which it knows no leader.
void add_votes(Table& table, const Json& nodes, std::uint32_t shard_count) {
  table.columns.insert(table.columns.end(), {"VOTES", "UNLED"});
  for (std::size_t k = 0; k < table.rows.size(); ++k) {
    const Json memory = nodes[k].value("memory", Json::object());
    table.rows[k].push_back(text_of(memory, "voting") + "/" + std::to_string(shard_count));
    table.rows[k].push_back(text_of(memory, "unled"));
  }
}

// "2:0.3 3:15.2": how much a node suspects each of the others, as -log10 of the chance to be wrong.
std::string suspicions_of(const Json& node) {
  std::string text;
  for (const Json& peer : node.value("peers", Json::array())) {
    const std::string told = peer["phi_milli"].dump();
    std::uint32_t milli = 0;
    if (const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), milli);
        error == std::errc{}) {
      text += (text.empty() ? "" : " ") + text_of(peer, "node") + ":" +
              std::to_string(milli / 1000) + "." + std::to_string(milli / 100 % 10);
    }
  }
  return text.empty() ? "-" : text;
}

Table table_of(const Json& nodes) {
  Table table{{"NODE",
               "ENDPOINT",
               "REACHABLE",
               "LEADS",
               "LOCKS",
               "WAITERS",
               "SESSIONS",
               "INCARNATION",
               "PEERS",
               "PHI",
               "STEPPER",
               "VERSION"},
              {},
              {},
              {}};
  for (const Json& node : nodes) {
    std::string peers = "-";
    if (node.contains("peers")) {
      const auto up = std::count_if(node["peers"].begin(), node["peers"].end(), [](const Json& p) {
        return p.value("live", false);
      });
      peers = std::to_string(up) + "/" + std::to_string(node["peers"].size());
    }
    table.rows.push_back({text_of(node, "node"),
                          text_of(node, "endpoint"),
                          reach_text(node),
                          node.value("witness", false) ? "witness" : text_of(node, "leaders"),
                          text_of(node, "locks"),
                          text_of(node, "waiters"),
                          text_of(node, "sessions"),
                          text_of(node, "incarnation"),
                          peers,
                          suspicions_of(node),
                          stepper_of(node),
                          text_of(node, "version")});
  }
  return table;
}

// Endpoints that were given and are no node's, as far as is known: of a node that has moved, or
// mistyped. The nodes themselves are all there beside them.
void add_strangers(Json& json, std::vector<std::string>& notes, const client::ClusterView& view) {
  for (const client::NodeView& node : view.nodes) {
    if (node.node_id == 0) {
      const std::string error = node.last_error.empty() ? "no answer yet" : node.last_error;
      json["unknown_endpoints"].push_back({{"endpoint", node.address}, {"error", error}});
      notes.push_back("endpoint " + node.address + " is of no known node: " + error);
    }
  }
}

int show_status(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  // An unreachable node is a line of the answer first, and then the exit code.
  const auto others = client->wait_for_all_nodes(std::min(context.timeout(), kOthersTimeout));
  static_cast<void>(others.ok());
  client::ClusterView cluster = client->cluster();
  std::sort(cluster.nodes.begin(), cluster.nodes.end(), [](const auto& a, const auto& b) {
    return a.node_id < b.node_id;
  });
  Json nodes = Json::array();
  bool all_reachable = true;
  bool all_refuse = true;
  for (const client::NodeView& node : cluster.nodes) {
    if (node.node_id == 0) {
      continue;  // add_strangers()
    }
    bool refused = false;
    nodes.push_back(describe(*client, node, refused));
    all_refuse = all_refuse && refused;
    all_reachable = all_reachable && nodes.back().value("reachable", false);
  }
  Json json = {{"cluster_id", std::to_string(cluster.cluster_id)},
               {"shards", cluster.shard_count},
               {"tick_ms", cluster.tick.count()},
               {"election_ms", cluster.election_timeout.count()},
               {"ttl_min_ms", cluster.ttl_min.count()},
               {"ttl_max_ms", cluster.ttl_max.count()},
               {"durability", durability_of(nodes)},
               {"nodes", nodes}};
  Table table = table_of(nodes);
  if (readmits(nodes)) {
    add_votes(table, nodes, cluster.shard_count);
  }
  table.caption = "cluster " + std::to_string(cluster.cluster_id) + ", " +
                  std::to_string(cluster.shard_count) + " shards, " +
                  leaders_of(nodes, cluster.shard_count) + ", durability " + durability_of(nodes) +
                  ", TTL " + std::to_string(cluster.ttl_min.count()) + " to " +
                  std::to_string(cluster.ttl_max.count()) + " ms";
  table.notes = ledger_notes(nodes);
  const std::vector<std::string> devices = device_notes(nodes);
  table.notes.insert(table.notes.end(), devices.begin(), devices.end());
  add_rejoining(table.notes, nodes, cluster.shard_count);
  add_low_disks(table.notes, nodes);
  add_gpus(table.notes, nodes);
  add_alarms(table.notes, nodes);
  add_deadlocks(table.notes, nodes);
  add_coordinators(table.notes, nodes);
  add_strangers(json, table.notes, cluster);
  context.output().print(json, table);
  const bool not_allowed = all_refuse && nodes.size() != 0;
  if (not_allowed && context.output().format() == Format::Tables) {
    talk(protocol::make_error(protocol::ErrorCode::NotAllowed, "cluster.read").to_string());
  }
  return static_cast<int>(all_reachable ? protocol::ExitCode::Ok
                          : not_allowed ? protocol::ExitCode::Auth
                                        : protocol::ExitCode::Unreachable);
}

constexpr const char* kStatusFooter =
    "LEADS: shards that the node leads. LOCKS, SESSIONS: of all shards, as far as the node has\n"
    "applied their logs. INCARNATION: rises with each start. PEERS: how many of the other nodes\n"
    "it hears. PHI: how much it suspects each of them, NODE:PHI; 8 is wrong once in a hundred\n"
    "million times. STEPPER: the device of its shards. VOTES: shards in which it votes, UNLED:\n"
    "those without a leader, both shown where nodes have to be admitted again.\n"
    "Exit codes: 0 every node answers, 3 one does not, or none, 4 all refuse it for a right.";

}  // namespace

void add_status_commands(Command& app, Context& context) {
  app.add_subcommand("status", "show every node of the cluster")
      ->footer(kStatusFooter)
      ->callback([&context] { context.choose(show_status); });
}

}  // namespace gcoord::cli
