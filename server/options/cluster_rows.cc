// The options of the node in its cluster: who it is, where it listens, whom it knows, and how it
// judges that others have failed.
#include "server/options/option_rows.h"
#include "server/options/setters.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace gcoord::server {

namespace {

using namespace setters;

Status node_id(const std::string& text, NodeOptions& options) {
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, 1, 65535, value));
  options.node = NodeId{static_cast<std::uint32_t>(value)};
  return Status{};
}

Status cluster_name(const std::string& text, NodeOptions& options) {
  const bool printable = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (text.empty() || text.size() > 64 || !printable) {
    return wrong("a cluster name has 1 to 64 letters, digits, '-', '_' or '.'");
  }
  options.cluster_name = text;
  return Status{};
}

Status cluster_id(const std::string& text, NodeOptions& options) {
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, 1, ~std::uint64_t{0}, value));
  options.cluster = ClusterId{value};
  return Status{};
}

Status peer(const std::string& text, NodeOptions& options) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return wrong("'" + text + "' is not ID=HOST:PORT[,CLIENTHOST:CLIENTPORT]");
  }
  PeerOption option;
  std::uint64_t id = 0;
  GCOORD_TRY_STATUS(apply_number(text.substr(0, equals), 1, 65535, id));
  option.id = NodeId{static_cast<std::uint32_t>(id)};
  const std::size_t comma = text.find(',', equals);
  GCOORD_TRY(option.peer, parse_endpoint(text.substr(equals + 1, comma - equals - 1)));
  // Without a client address, the node gives its own once it is up
  // (server/peers/client_address.h).
  if (comma != std::string::npos) {
    GCOORD_TRY(option.client, parse_endpoint(text.substr(comma + 1)));
  }
  options.peers.push_back(std::move(option));
  return Status{};
}

Status join(const std::string& text, NodeOptions& options) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    GCOORD_TRY(Endpoint endpoint, parse_endpoint(text.substr(begin, comma - begin)));
    options.join.push_back(std::move(endpoint));
    begin = comma + 1;
  }
  return Status{};
}

Status join_token(const std::string& text, NodeOptions& options) {
  options.join_token = protocol::parse_join_token(text);
  return options.join_token ? Status{} : wrong("a token has 32 hexadecimal digits");
}

Status member_name(const std::string& text, NodeOptions& options) {
  // Of a node that is none: the default name of one is judged with the node's id.
  if (!protocol::is_member_name(text, NodeId{0}) && !text.starts_with("node-")) {
    return wrong("a node's name has 1 to 64 letters, digits, '.', '_' or '-'");
  }
  options.member_name = text;
  return Status{};
}

Status label(const std::string& text, NodeOptions& options) {
  auto parsed = protocol::parse_member_label(text);
  if (!parsed) {
    return wrong("'" + text +
                 "' is not KEY=VALUE of at most 64 bytes, with a key of lower-case letters, "
                 "digits, '.', '_' or '-', and a value without spaces and commas");
  }
  options.member_labels.push_back(*std::move(parsed));
  return Status{};
}

Status peer_transport(const std::string& text, NodeOptions& options) {
  if (text != "tcp" && text != "ucx") {
    return wrong("'" + text + "' is neither tcp nor ucx");
  }
  options.peer_transport = text == "tcp" ? PeerTransport::Tcp : PeerTransport::Ucx;
  return Status{};
}

Status coordinator(const std::string& text, NodeOptions& options) {
  const std::optional<CoordinatorMethod> method = parse_coordinator_method(text);
  if (!method.has_value()) {
    return wrong("'" + text + "' is none of raft, bully, ring");
  }
  options.coordinator = *method;
  return Status{};
}

bool is_socket_path(const std::string& text) {
  return text.size() > 1 && text.front() == '/' && text.back() != '/' &&
         text.find('\0') == std::string::npos && text.find(',') == std::string::npos;
}

Status unix_path(const std::string& text, NodeOptions& options) {
  if (!is_socket_path(text)) {
    return wrong("'" + text + "' is no absolute path of a file, without commas");
  }
  options.listen_unix = text;
  return Status{};
}

Status shm_place(const std::string& text, NodeOptions& options) {
  if (text != kShmOff && !is_socket_path(text)) {
    return wrong("'" + text + "' is neither off nor an absolute path of a file, without commas");
  }
  options.listen_shm = text;
  return Status{};
}

Status unix_mode(const std::string& text, NodeOptions& options) {
  std::uint32_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || (mode & ~0666u) != 0 || (mode & 0600u) != 0600u) {
    return wrong("'" + text + "' is no mode from 0600 to 0666 that lets the owner connect");
  }
  options.unix_mode = mode;
  return Status{};
}

constexpr std::array kRows = {
    OptionRow{"node-id",
              OptionShape::Value,
              "ID",
              "this node's number in its cluster, 1 to 65535 (default 1)",
              &node_id},
    OptionRow{"peer",
              OptionShape::List,
              "ID=HOST:PORT[,CLIENTHOST:CLIENTPORT]",
              "peer address of a node of the cluster, and its client address if clients need "
              "another one than it listens on; repeat for each node; this node may be among them",
              &peer},
    OptionRow{"join",
              OptionShape::Value,
              "HOST:PORT[,HOST:PORT...]",
              "client addresses of nodes of a cluster that this node joins with an empty "
              "--data-dir; it takes its number and the cluster's settings from there, and goes by "
              "its directory at later starts; over TLS where --tls-ca is given",
              &join},
    OptionRow{"join-token",
              OptionShape::Value,
              "TOKEN",
              "leave to join once, 32 hexadecimal digits; gcoordctl member add prints it",
              &join_token,
              true},
    OptionRow{"member-name",
              OptionShape::Value,
              "NAME",
              "this node's name in the first cluster view; gcoordctl member update changes it "
              "later (default node-ID)",
              &member_name},
    OptionRow{"label",
              OptionShape::List,
              "KEY=VALUE",
              "label of this node in the first cluster view, such as zone=a; repeat for more, at "
              "most 8; gcoordctl member update changes them later",
              &label},
    OptionRow{
        "view-after",
        OptionShape::Value,
        "TIME",
        "time after an upgrade of all nodes until the cluster gets its first view, up to 24h; "
        "from then on the nodes cannot go back to a release without views (default 10m)",
        &duration<&NodeOptions::view_after_ms, 0, kDayMs>},
    OptionRow{"listen-client",
              OptionShape::Value,
              "HOST:PORT",
              "address for clients (default 127.0.0.1:7400; port 0 lets the system choose)",
              &endpoint<&NodeOptions::listen_client>},
    OptionRow{"listen-unix",
              OptionShape::Value,
              "PATH",
              "Unix socket for clients of this machine besides, an absolute path; who they are is "
              "what the kernel says: unix:uid:1000 (default: none)",
              &unix_path},
    OptionRow{"listen-shm",
              OptionShape::Value,
              "PATH|off",
              "socket by which clients of this machine get shared memory for requests and replies, "
              "an absolute path (default: client.shm in the data directory)",
              &shm_place},
    OptionRow{"unix-mode",
              OptionShape::Value,
              "MODE",
              "rights of the files of these sockets, 0600 to 0666: who may connect (default 0600, "
              "the node's own user)",
              &unix_mode},
    OptionRow{"listen-peer",
              OptionShape::Value,
              "HOST:PORT",
              "address for the other nodes (default 127.0.0.1, 100 above the client port: 7500)",
              &endpoint<&NodeOptions::listen_peer>},
    OptionRow{"listen-metrics",
              OptionShape::Value,
              "HOST:PORT|off",
              "address of /metrics, /livez and /readyz over HTTP (default 127.0.0.1, 200 above the "
              "client port: 7600)",
              &endpoint_or_off<&NodeOptions::listen_metrics>},
    OptionRow{"listen-ledger",
              OptionShape::Value,
              "HOST:PORT|off",
              "address at which auditors read the ledger over HTTP (default off)",
              &endpoint_or_off<&NodeOptions::listen_ledger>},
    OptionRow{"advertise-client",
              OptionShape::Value,
              "HOST:PORT",
              "address at which clients reach this node, where that is not --listen-client "
              "(default: as --peer of this node says, else --listen-client)",
              &advertised<&NodeOptions::advertise_client>},
    OptionRow{"advertise-peer",
              OptionShape::Value,
              "HOST:PORT",
              "address at which the other nodes reach this node, where that is not --listen-peer "
              "(default: as --peer of this node says, else --listen-peer)",
              &advertised<&NodeOptions::advertise_peer>},
    OptionRow{"cluster-name",
              OptionShape::Value,
              "NAME",
              "name of the cluster; nodes of clusters with different names refuse each other "
              "(default gcoord)",
              &cluster_name},
    OptionRow{"cluster-id",
              OptionShape::Value,
              "N",
              "number of the cluster (default: derived from its name)",
              &cluster_id},
    OptionRow{"tick-ms",
              OptionShape::Value,
              "MS",
              "length of a tick, 1 to 1000, equal on all nodes (default 10)",
              &number<&NodeOptions::tick_ms, 1, 1000>},
    OptionRow{"election-ms",
              OptionShape::Value,
              "MS",
              "election timeout, 50 to 60000, equal on all nodes, at least 10 ticks and 3 "
              "heartbeats (default 1000)",
              &number<&NodeOptions::election_ms, 50, 60000>},
    OptionRow{"heartbeat-ms",
              OptionShape::Value,
              "MS",
              "time between heartbeats of nodes, 10 to 20000, at least 1 tick (default 100)",
              &number<&NodeOptions::heartbeat_ms, 10, 20000>},
    OptionRow{
        "suspicion",
        OptionShape::Value,
        "PHI",
        "how sure this node must be that a silent node has failed, 1 to 100: it is wrong once "
        "in 10^PHI times (default 8)",
        &number<&NodeOptions::suspicion, 1, 100>},
    OptionRow{"silence-ms",
              OptionShape::Value,
              "MS",
              "time for which nothing may be heard of a node at least before silence alone makes "
              "it suspect, 100 to 600000; a killed process is detected at once (default 2500)",
              &number<&NodeOptions::silence_ms, 100, 600'000>},
    OptionRow{"probe-interval-ms",
              OptionShape::Value,
              "MS",
              "time between probes of other nodes over UDP, 10 to 10000 (default 100)",
              &number<&NodeOptions::probe_interval_ms, 10, 10'000>},
    OptionRow{
        "replace-after",
        OptionShape::Value,
        "TIME",
        "time for which a node is suspect until there is an alarm that it should be replaced, "
        "up to 24h; 0: none (default 5m)",
        &duration<&NodeOptions::replace_after_ms, 0, kDayMs>},
    OptionRow{"converge-after",
              OptionShape::Value,
              "TIME",
              "time for which a node is joining or leaving until there is an alarm, up to 24h; 0: "
              "none (default 10m)",
              &duration<&NodeOptions::converge_after_ms, 0, kDayMs>},
    OptionRow{
        "coordinator",
        OptionShape::Value,
        "raft|bully|ring",
        "how the nodes choose the coordinator, which searches for deadlocks: raft, the leader of "
        "shard 0; bully or ring, an election among the nodes; equal on all nodes (default raft)",
        &coordinator},
    OptionRow{"peer-transport",
              OptionShape::Value,
              "tcp|ucx",
              "transport between nodes (default tcp)",
              &peer_transport},
};

}  // namespace

std::span<const OptionRow> cluster_rows() {
  return kRows;
}

}  // namespace gcoord::server
