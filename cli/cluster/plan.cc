#include "cli/cluster/plan.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kNodesMax = 7;  // As gcoordd's: the voters of one shard.
constexpr std::uint32_t kNodesDefault = 3;
constexpr std::uint32_t kShardsMax = 16u << 20;
constexpr std::uint16_t kPeerPortAbove = 100;
constexpr std::uint16_t kMetricsPortAbove = 200;
constexpr std::uint16_t kLedgerPortAbove = 300;
constexpr const char* kLoopback = "127.0.0.1";

Status refuse(const std::string& why) {
  return protocol::make_error(protocol::ErrorCode::OptionInvalid, why);
}

// As gcoordd takes them.
bool is_cluster_name(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Status check(const ClusterWishes& wishes, std::size_t nodes) {
  if (nodes < 1 || nodes > kNodesMax) {
    return refuse("--nodes " + std::to_string(nodes) + " is not between 1 and 7");
  }
  if (!wishes.hosts.empty() && wishes.hosts.size() != nodes) {
    return refuse("--hosts names " + std::to_string(wishes.hosts.size()) +
                  " hosts, and --nodes is " + std::to_string(nodes));
  }
  if (!is_cluster_name(wishes.name)) {
    return refuse("--name '" + wishes.name +
                  "' does not have 1 to 64 letters, digits, '-', '_' or '.'");
  }
  if (wishes.shards < 1 || wishes.shards > kShardsMax) {
    return refuse("--shards " + std::to_string(wishes.shards) + " is not between 1 and 16777216");
  }
  if (!wishes.data_dir.starts_with('/') || has_control(wishes.data_dir)) {
    return refuse("--data-dir '" + wishes.data_dir + "' is no absolute path");
  }
  if (wishes.tls && (!wishes.files_dir.starts_with('/') || has_control(wishes.files_dir))) {
    return refuse("--files-dir '" + wishes.files_dir + "' is no absolute path");
  }
  if (!wishes.client_certificates.empty() && wishes.client_certificates != "optional" &&
      wishes.client_certificates != "required") {
    return refuse("--client-certificates '" + wishes.client_certificates +
                  "' is neither optional nor required");
  }
  if (!wishes.tls && (wishes.rights || !wishes.client_certificates.empty())) {
    return refuse("--with-rights and --client-certificates need --with-tls");
  }
  return {};
}

// A host as --hosts has it, IPv6 with or without brackets.
Result<std::string> host_of(const std::string& text) {
  const bool bare6 = text.find(':') != std::string::npos && !text.starts_with('[');
  const auto parsed = server::parse_endpoint((bare6 ? "[" + text + "]" : text) + ":1");
  if (!parsed.ok() || is_everywhere(parsed.value())) {
    return refuse("--hosts: '" + text + "' is no host that the other nodes can reach");
  }
  return parsed.value().host;
}

// In quotes, as TOML has them.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char byte : text) {
    out += byte == '"' || byte == '\\' ? std::string{'\\', byte} : std::string{byte};
  }
  return out + "\"";
}

}  // namespace

bool ClusterPlan::on_loopback() const {
  return std::ranges::all_of(
      nodes, [](const PlannedNode& node) { return server::is_loopback(node.client); });
}

std::string ClusterPlan::endpoints() const {
  std::string list;
  for (const PlannedNode& node : nodes) {
    list += (list.empty() ? "" : ",") + server::to_string(node.client);
  }
  return list;
}

Result<ClusterPlan> plan_cluster(const ClusterWishes& wishes) {
  const std::size_t asked = wishes.nodes != 0      ? wishes.nodes
                            : wishes.hosts.empty() ? kNodesDefault
                                                   : wishes.hosts.size();
  GCOORD_TRY_STATUS(check(wishes, asked));
  std::vector<std::string> hosts;
  std::map<std::string, std::uint32_t> nodes_of_host;
  const auto key = [](const std::string& host) {
    return server::is_loopback({host, 1}) ? std::string{kLoopback} : host;
  };
  for (std::size_t i = 0; i < asked; ++i) {
    GCOORD_TRY(std::string host,
               wishes.hosts.empty() ? Result<std::string>{kLoopback} : host_of(wishes.hosts[i]));
    if (!server::is_loopback({host, 1}) && !wishes.insecure && !wishes.tls) {
      return protocol::make_error(protocol::ErrorCode::ListenInsecure, "--hosts: " + host);
    }
    ++nodes_of_host[key(host)];
    hosts.push_back(std::move(host));
  }
  const bool all_here = nodes_of_host.size() == 1 && nodes_of_host.contains(kLoopback);
  const std::uint32_t first = wishes.client_port != 0 ? wishes.client_port : all_here ? 7401 : 7400;
  if (first > 65'535 || first + kLedgerPortAbove + asked > 65'536) {
    return refuse("--client-port " + std::to_string(first) + " leaves no ports above it");
  }
  ClusterPlan plan{.name = wishes.name,
                   .cluster_id = wishes.cluster_id,
                   .shards = wishes.shards,
                   .tls = wishes.tls,
                   .insecure = wishes.insecure && !wishes.tls && !all_here,
                   .certified = wishes.tls && (wishes.client_certificates.empty()
                                                   ? !all_here
                                                   : wishes.client_certificates == "required"),
                   .first_admin = wishes.rights ? kOperatorName : "",
                   .files_dir = wishes.files_dir,
                   .nodes = {}};
  std::map<std::string, std::uint16_t> planned;
  for (const std::string& host : hosts) {
    const auto id = static_cast<std::uint32_t>(plan.nodes.size() + 1);
    const auto port = static_cast<std::uint16_t>(first + planned[key(host)]++);
    const bool alone = !all_here && nodes_of_host[key(host)] == 1;
    plan.nodes.push_back(
        {.id = id,
         .client = {host, port},
         .peer = {host, static_cast<std::uint16_t>(port + kPeerPortAbove)},
         .metrics = {kLoopback, static_cast<std::uint16_t>(port + kMetricsPortAbove)},
         .ledger = {kLoopback, static_cast<std::uint16_t>(port + kLedgerPortAbove)},
         .data_dir = wishes.data_dir + (alone ? "" : "/node-" + std::to_string(id))});
  }
  return plan;
}

std::string configuration_of(const ClusterPlan& plan, const PlannedNode& node) {
  std::string text =
      "# Node " + std::to_string(node.id) + " of " + std::to_string(plan.nodes.size()) +
      ", written by `gcoordctl cluster init`. Every key is an option of `gcoordd --help` with _ "
      "for\n"
      "# -; a flag wins over the environment (GCOORD_NODE_ID=1), and that over this file.\n"
      "node_id = " +
      std::to_string(node.id) +
      "\n\n"
      "# Equal on all nodes of the cluster, and fixed when it is created.\n"
      "cluster_name = " +
      quoted(plan.name) +
      "\n"
      "cluster_id = " +
      quoted(std::to_string(plan.cluster_id)) +
      "\n"
      "shards = " +
      std::to_string(plan.shards) +
      "\n"
      "# ID=HOST:PORT for the other nodes, then HOST:PORT for clients.\n"
      "peer = [\n";
  for (const PlannedNode& each : plan.nodes) {
    text += "  " +
            quoted(std::to_string(each.id) + "=" + server::to_string(each.peer) + "," +
                   server::to_string(each.client)) +
            ",\n";
  }
  text += "]\n\n";
  text += "listen_client = " + quoted(server::to_string(node.client)) + "\n";
  text += "listen_peer = " + quoted(server::to_string(node.peer)) + "\n";
  text += "listen_metrics = " + quoted(server::to_string(node.metrics)) + "\n";
  text += "listen_ledger = " + quoted(server::to_string(node.ledger)) + "\n";
  if (plan.insecure) {
    text +=
        "# Nothing is encrypted or authenticated: for a network that you trust.\n"
        "insecure = true\n";
  }
  if (plan.tls) {
    const auto file = [&](const std::string& name) { return quoted(plan.files_dir + "/" + name); };
    const std::string own = "node-" + std::to_string(node.id);
    text +=
        "# TLS on every port; the files are read again when they change.\n"
        "tls_cert = " +
        file(own + ".crt") + "\ntls_key = " + file(own + ".key") + "\ntls_ca = " + file("ca.crt") +
        "\ntls_crl = " + file("ca.crl") +
        (plan.certified ? "\n# Every client shows a certificate of the CA, and is its user.\n"
                          "client_certificates = \"required\"\n"
                        : "\n# A client may show a certificate, and is its user then.\n"
                          "client_certificates = \"optional\"\n") +
        "# Nodes show each other their certificates.\n"
        "peer_tls = \"required\"\n"
        "# By this the nodes prove to each other that they are of this cluster.\n"
        "cluster_secret = " +
        file("cluster.secret") + "\n";
    if (!plan.first_admin.empty()) {
      text +=
          "# Rights are checked from the start, and this user has all of them.\n"
          "first_admin = " +
          quoted(plan.first_admin) + "\n";
    }
  }
  text += "\n# Of this node alone.\ndata_dir = " + quoted(node.data_dir) + "\n";
  return text;
}

}  // namespace gcoord::cli
