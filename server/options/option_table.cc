#include "server/options/option_table.h"

#include "common/text/duration.h"
#include "protocol/limits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace gcoord::server {

namespace {

Status wrong(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message)};
}

Status apply_number(const std::string& text,
                    std::uint64_t lowest,
                    std::uint64_t highest,
                    std::uint64_t& out) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number < lowest || number > highest) {
    return wrong("'" + text + "' is not a whole number from " + std::to_string(lowest) + " to " +
                 std::to_string(highest));
  }
  out = number;
  return Status{};
}

// A setter for an unsigned 32-bit member with a range.
template <std::uint32_t NodeOptions::*member, std::uint32_t lowest, std::uint32_t highest>
Status number(const std::string& text, NodeOptions& options) {
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, lowest, highest, value));
  options.*member = static_cast<std::uint32_t>(value);
  return Status{};
}

// A time with a unit (common/text/duration.h).
template <std::uint32_t NodeOptions::*member, std::uint32_t lowest, std::uint32_t highest>
Status duration(const std::string& text, NodeOptions& options) {
  const auto ms = parse_milliseconds(text);
  if (!ms.has_value() || *ms < lowest || *ms > highest) {
    return wrong("'" + text + "' is not a time from " + std::to_string(lowest) + "ms to " +
                 std::to_string(highest) + "ms; write it with a unit: 500ms, 1.5s, 1h30m or 1d");
  }
  options.*member = static_cast<std::uint32_t>(*ms);
  return Status{};
}

// "512MiB", "1GiB"; a bare number is bytes.
template <std::uint64_t NodeOptions::*member, std::uint64_t lowest, std::uint64_t highest>
Status memory(const std::string& text, NodeOptions& options) {
  std::uint64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const bool known = unit.empty() || unit == "KiB" || unit == "MiB" || unit == "GiB";
  const unsigned shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
  const bool sane = error == std::errc{} && known && amount <= (highest >> shift);
  if (!sane || amount << shift < lowest) {
    return wrong("'" + text + "' is not a size from " + std::to_string(lowest >> 20) + "MiB to " +
                 std::to_string(highest >> 30) + "GiB; units are KiB, MiB and GiB");
  }
  options.*member = amount << shift;
  return Status{};
}

template <Endpoint NodeOptions::*member>
Status endpoint(const std::string& text, NodeOptions& options) {
  auto parsed = parse_endpoint(text, PortZero::Allowed);
  if (!parsed.ok()) {
    return parsed.status();
  }
  options.*member = std::move(parsed).value();
  return Status{};
}

// One that others are given: never with port 0.
template <Endpoint NodeOptions::*member>
Status advertised(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.*member, parse_endpoint(text));
  return Status{};
}

template <Endpoint NodeOptions::*member>
Status endpoint_or_off(const std::string& text, NodeOptions& options) {
  if (text == "off") {
    options.*member = Endpoint{};
    return Status{};
  }
  return endpoint<member>(text, options);
}

template <std::string NodeOptions::*member>
Status path(const std::string& text, NodeOptions& options) {
  if (text.empty() || text.find('\0') != std::string::npos) {
    return wrong("the path is empty or has a zero byte");
  }
  options.*member = text;
  return Status{};
}

// A file of TLS.
template <std::string security::TlsFiles::*member>
Status tls_file(const std::string& text, NodeOptions& options) {
  if (text.empty() || text.find('\0') != std::string::npos) {
    return wrong("the path is empty or has a zero byte");
  }
  options.tls.files.*member = text;
  return Status{};
}

template <std::optional<TlsMode> TlsChoices::*member>
Status tls_mode_of(const std::string& text, NodeOptions& options) {
  options.tls.*member = parse_tls_mode(text);
  return (options.tls.*member).has_value()
             ? Status{}
             : wrong("'" + text + "' is none of off, permissive and required");
}

Status certificates_of_clients(const std::string& text, NodeOptions& options) {
  options.tls.client_certificates = parse_client_certificates(text);
  return options.tls.client_certificates.has_value()
             ? Status{}
             : wrong("'" + text + "' is none of none, optional and required");
}

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

Status ledger_keep_heads(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_keep_heads, ledger::parse_keep_policy(text));
  return options.ledger_keep_heads.age_ms == 0
             ? Status{}
             : wrong("an age bound does not apply to published heads");
}

Status ledger_keep(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_keep, ledger::parse_keep_policy(text));
  return Status{};
}

Status ledger_bytes_max(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_bytes_max, ledger::parse_bytes_max(text));
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
  // Without a client address, the node is asked for it once it is up
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

Status peer_proof(const std::string& text, NodeOptions& options) {
  if (text != "permissive" && text != "required") {
    return wrong("'" + text + "' is neither permissive nor required");
  }
  options.peer_proof = text == "required" ? PeerProof::Required : PeerProof::Permissive;
  return Status{};
}

Status device(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.device, parse_device_choice(text));
  return Status{};
}

Status turn(const std::string& text, NodeOptions& options) {
  if (text != "host" && text != "resident") {
    return wrong("'" + text + "' is neither host nor resident");
  }
  options.turn = text == "resident" ? TurnOption::Resident : TurnOption::Host;
  return Status{};
}

Status resident_peers(const std::string& text, NodeOptions& options) {
  for (const ResidentPeers wish :
       {ResidentPeers::Auto, ResidentPeers::Mapped, ResidentPeers::Proxy}) {
    if (text == resident_peers_name(wish)) {
      options.resident_peers = wish;
      return Status{};
    }
  }
  return wrong("'" + text + "' is none of auto, mapped, proxy");
}

Status coordinator(const std::string& text, NodeOptions& options) {
  const std::optional<CoordinatorMethod> method = parse_coordinator_method(text);
  if (!method.has_value()) {
    return wrong("'" + text + "' is none of raft, bully, ring");
  }
  options.coordinator = *method;
  return Status{};
}

Status session_keys(const std::string& text, NodeOptions& options) {
  const std::optional<SessionKeyMode> mode = parse_session_key_mode(text);
  if (!mode.has_value()) {
    return wrong("'" + text + "' is none of auto, off, permissive, required");
  }
  options.session_keys = *mode;
  return Status{};
}

Status io_threads(const std::string& text, NodeOptions& options) {
  if (text == "auto") {
    options.io_threads.reset();
    return Status{};
  }
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, 0, kIoThreadsMax, value));
  options.io_threads = static_cast<std::uint32_t>(value);
  return Status{};
}

Status io_backend(const std::string& text, NodeOptions& options) {
  const std::optional<IoBackendWish> wish = parse_io_backend_wish(text);
  if (!wish.has_value()) {
    return wrong("'" + text + "' is none of auto, io_uring, epoll");
  }
  options.io_backend = *wish;
  return Status{};
}

Status durability(const std::string& text, NodeOptions& options) {
  if (text != "durable" && text != "memory") {
    return wrong("'" + text + "' is neither durable nor memory");
  }
  options.durability = text == "memory" ? Durability::Memory : Durability::Durable;
  return Status{};
}

template <bool NodeOptions::*field>
Status flag(const std::string& text, NodeOptions& options) {
  if (text != "true" && text != "false") {
    return wrong("'" + text + "' is neither true nor false");
  }
  options.*field = text == "true";
  return Status{};
}

Status log_level(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.log_levels, parse_log_levels(text, options.log_levels));
  return Status{};
}

Status log_format(const std::string& text, NodeOptions& options) {
  if (text != "text" && text != "json") {
    return wrong("'" + text + "' is neither text nor json");
  }
  options.log_format = text == "json" ? LogFormat::Json : LogFormat::Text;
  return Status{};
}

constexpr std::uint32_t kConnectionsMax = 100'000;
// A few of the largest frames of each use.
constexpr std::uint64_t kMemoryMin = std::uint64_t{16} << 20;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1024} << 30;
constexpr std::uint32_t kDayMs = protocol::kTtlMsMax;
constexpr std::uint32_t kRowsMax = 1u << 28;
constexpr std::uint32_t kCheckOneInMax = 1'000'000;
constexpr std::uint32_t kTurnStripesMax = 1024;
constexpr std::uint32_t kTurnThreadsMax = 16;  // As in server/replicas/options.h.

constexpr std::array kTable = {
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
              "its directory at later starts",
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
    OptionRow{"data-dir",
              OptionShape::Value,
              "DIR",
              "directory of the node's log and checkpoints; required except for dev",
              &path<&NodeOptions::data_dir>},
    OptionRow{
        "shards",
        OptionShape::Value,
        "N",
        "number of shards of the cluster, 1 to 16777216, fixed when it is created (default 65536)",
        &number<&NodeOptions::shards, 1, protocol::kShardsMax>},
    OptionRow{
        "durability",
        OptionShape::Value,
        "durable|memory",
        "when a write is acknowledged: durable, once it is on the disks of a majority; memory, "
        "once it is in the memory of a majority, which a node loses when it restarts; equal on all "
        "nodes and fixed when the cluster is created (default durable)",
        &durability},
    OptionRow{
        "rejoin",
        OptionShape::Flag,
        "",
        "rebuild a lost, damaged or outdated data directory from the other nodes; use this only if "
        "no other process runs with a newer copy; a damaged directory is moved to DIR.damaged",
        &flag<&NodeOptions::rejoin>},
    OptionRow{"checkpoint-interval",
              OptionShape::Value,
              "TIME",
              "time between checkpoints of changed shards, 1s to 24h (default 30s); up to twice as "
              "long while very many sessions end together",
              &duration<&NodeOptions::checkpoint_interval_ms, 1000, kDayMs>},
    OptionRow{"ledger-keep-heads",
              OptionShape::Value,
              "POLICY",
              "retention of the log of published heads: all, entries:N, bytes:N; the newest head "
              "of each shard is always kept (default all)",
              &ledger_keep_heads},
    OptionRow{
        "ledger-keep",
        OptionShape::Value,
        "all|BOUND,...",
        "retention of each shard's history: all, or bounds entries:N, bytes:N[KiB|MiB|GiB|TiB], "
        "age:TIME; the oldest entries are pruned first, 256 at a time (default all)",
        &ledger_keep},
    OptionRow{"ledger-bytes-max",
              OptionShape::Value,
              "all|N[KiB|MiB|GiB|TiB]",
              "bound of the histories of all shards together: the oldest entries of the largest "
              "shards are "
              "pruned, never those behind the newest published head (default: a tenth of the file "
              "system, "
              "at least 1GiB; all in data directories of releases without this option)",
              &ledger_bytes_max},
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
    OptionRow{"session-ttl-max",
              OptionShape::Value,
              "TIME",
              "longest session TTL that a client may request, 1s to 24h (default 24h)",
              &duration<&NodeOptions::ttl_ms_max, 1000, kDayMs>},
    OptionRow{"deadlock-interval",
              OptionShape::Value,
              "TIME",
              "time between deadlock searches, up to 1m; 0s: never search (default 1s)",
              &duration<&NodeOptions::deadlock_interval_ms, 0, 60'000>},
    OptionRow{
        "coordinator",
        OptionShape::Value,
        "raft|bully|ring",
        "how the nodes choose the coordinator, which searches for deadlocks: raft, the leader of "
        "shard 0; bully or ring, an election among the nodes; equal on all nodes (default raft)",
        &coordinator},
    OptionRow{"session-keys",
              OptionShape::Value,
              "MODE",
              "whether requests for a session take its key, where the cluster has a secret: off, "
              "permissive, required, or auto, which is required once rights are checked (default "
              "auto)",
              &session_keys},
    OptionRow{"connections-max",
              OptionShape::Value,
              "N",
              "maximum of client connections, 1 to 100000; a sixteenth is kept for this host and "
              "for addresses with few connections (default 4096)",
              &number<&NodeOptions::connections_max, 1, kConnectionsMax>},
    OptionRow{"source-connections-max",
              OptionShape::Value,
              "N",
              "maximum of client connections from one address, an IPv6 network of 64 bits being "
              "one (default 0: three quarters of --connections-max)",
              &number<&NodeOptions::source_connections_max, 0, kConnectionsMax>},
    OptionRow{"client-memory-max",
              OptionShape::Value,
              "BYTES[KiB|MiB|GiB]",
              "maximum of memory for requests and unread replies of clients, 16MiB to 1024GiB; the "
              "connection that holds the most is closed first (default 512MiB, or 128KiB for each "
              "of --connections-max where that is more)",
              &memory<&NodeOptions::client_memory_bytes, kMemoryMin, kMemoryMax>},
    OptionRow{"locks-max",
              OptionShape::Value,
              "N",
              "maximum of locks held on this node (default 16777216)",
              &number<&NodeOptions::locks_max, 1, kRowsMax>},
    OptionRow{"waiters-max",
              OptionShape::Value,
              "N",
              "maximum of requests that wait for locks on this node (default 4194304)",
              &number<&NodeOptions::waiters_max, 1, kRowsMax>},
    OptionRow{"sessions-max",
              OptionShape::Value,
              "N",
              "maximum of session registrations in shards (default 16777216)",
              &number<&NodeOptions::sessions_max, 1, kRowsMax>},
    OptionRow{"session-locks-max",
              OptionShape::Value,
              "N",
              "maximum of locks that one session holds and waits for (default 0: no limit)",
              &number<&NodeOptions::session_locks_max, 0, kRowsMax>},
    OptionRow{"peer-transport",
              OptionShape::Value,
              "tcp|ucx",
              "transport between nodes (default tcp)",
              &peer_transport},
    OptionRow{"device",
              OptionShape::Value,
              "cpu|auto|cuda:N|twin",
              "device that steps the shards, or runs the resident turn; auto: the first usable "
              "GPU, else the CPU; twin: emulation of a GPU on the host, for tests (default cpu)",
              &device},
    OptionRow{"device-check",
              OptionShape::Value,
              "N",
              "repeat one of N steps of a device on the host and check its memory, 0 to 1000000; "
              "0: check nothing (default 64)",
              &number<&NodeOptions::device_check_one_in, 0, kCheckOneInMax>},
    OptionRow{"turn",
              OptionShape::Value,
              "host|resident",
              "host: a loop on the host runs the node's turn; resident: the device runs it by "
              "itself, in clusters of three nodes; without a GPU the host emulates the device; "
              "equal on all nodes (default host)",
              &turn},
    OptionRow{
        "turn-threads",
        OptionShape::Value,
        "N",
        "for --turn host on processors: number of threads that share the shards in a turn, up "
        "to 16; nodes and restarts may differ in it; 0: one for every eight processors that "
        "the process may use, at least 1 and at most 4 (default 0)",
        &number<&NodeOptions::turn_threads, 0, kTurnThreadsMax>},
    OptionRow{"io-threads",
              OptionShape::Value,
              "N|auto",
              "threads that receive from clients, check frames and send replies, up to 16; 0: the "
              "loop's thread does; auto: one for every eight processors that the process may use, "
              "none below eight and at most 4 (default auto)",
              &io_threads},
    OptionRow{"io-backend",
              OptionShape::Value,
              "auto|io_uring|epoll",
              "for --io-threads: how they ask the kernel; auto: io_uring where the kernel allows "
              "it, else epoll (default auto)",
              &io_backend},
    OptionRow{"turn-stripes",
              OptionShape::Value,
              "N",
              "for --turn resident: number of thread groups that share the shards, up to 1024; a "
              "device must have room for the groups of all nodes on it; 0: one for every 4096 "
              "shards, from 16 to 256; equal on all nodes (default 0)",
              &number<&NodeOptions::turn_stripes, 0, kTurnStripesMax>},
    OptionRow{"resident-peers",
              OptionShape::Value,
              "auto|mapped|proxy",
              "for --turn resident: how two nodes' devices exchange messages; mapped: each maps "
              "the other's memory, on one host; proxy: their hosts carry the messages over "
              "--peer-transport; auto: mapped if both nodes can, else proxy (default auto)",
              &resident_peers},
    OptionRow{"cluster-secret",
              OptionShape::Value,
              "FILE",
              "the secret that all nodes of the cluster share, by which they prove who they are; "
              "gcoordctl cluster secret new makes one (default DATA_DIR/cluster.secret, if it is "
              "there)",
              &path<&NodeOptions::cluster_secret>},
    OptionRow{"peer-proof",
              OptionShape::Value,
              "permissive|required",
              "whether other nodes must prove that they have the cluster's secret; permissive is "
              "for the way there: who has proven it once must from then on (default required, once "
              "this node has a secret)",
              &peer_proof},
    OptionRow{"insecure",
              OptionShape::Flag,
              "",
              "allow listening beyond loopback, without encryption and authentication",
              &flag<&NodeOptions::insecure>},
    OptionRow{"tls-cert",
              OptionShape::Value,
              "FILE",
              "certificate of this node for its ports, as PEM, before those between it and the "
              "authority; this and the other files of TLS are read again when they change and at "
              "SIGHUP",
              &tls_file<&security::TlsFiles::certificate>},
    OptionRow{"tls-key",
              OptionShape::Value,
              "FILE",
              "its private key, as PEM, unencrypted, with rights for its owner alone",
              &tls_file<&security::TlsFiles::key>},
    OptionRow{"tls-ca",
              OptionShape::Value,
              "FILE",
              "authorities whose certificates are trusted, as PEM",
              &tls_file<&security::TlsFiles::authority>},
    OptionRow{
        "tls-crl",
        OptionShape::Value,
        "FILE",
        "revocation lists of the authorities, as PEM; with one, certificates are refused once "
        "the list is too old",
        &tls_file<&security::TlsFiles::revoked>},
    OptionRow{"client-tls",
              OptionShape::Value,
              "off|permissive|required",
              "TLS 1.3 on the client port; permissive: plain text, too, by the first byte of each "
              "connection; changes at SIGHUP (default required with --tls-cert, else off)",
              &tls_mode_of<&TlsChoices::client>},
    OptionRow{
        "http-tls",
        OptionShape::Value,
        "off|permissive|required",
        "the same for the ports of metrics and ledger (default required with --tls-cert, else "
        "off)",
        &tls_mode_of<&TlsChoices::http>},
    OptionRow{"client-certificates",
              OptionShape::Value,
              "none|optional|required",
              "whether who connects to the client port and the HTTP ports shows a certificate of "
              "--tls-ca (default optional with --tls-ca, else none)",
              &certificates_of_clients},
    OptionRow{"trace",
              OptionShape::Value,
              "FILE",
              "write every shard transition to FILE as JSON lines; if FILE exists, to FILE.2, "
              "FILE.3 and so on",
              &path<&NodeOptions::trace_file>},
    OptionRow{"slow-request-ms",
              OptionShape::Value,
              "MS",
              "log requests that are answered later than this, up to 3600000, waits in queues not "
              "counted; 0: none (default 1000)",
              &number<&NodeOptions::slow_request_ms, 0, 3'600'000>},
    OptionRow{"cpu-profiles",
              OptionShape::Flag,
              "",
              "allow whoever reaches the metrics port to have CPU profiles made (/debug/profile), "
              "by gperftools' libprofiler (default off)",
              &flag<&NodeOptions::cpu_profiles>},
    OptionRow{"log-level",
              OptionShape::Value,
              "LEVEL[,COMPONENT=LEVEL...]",
              "level of the log: off, error, warn, info or debug, and of components with another "
              "one: node, peers, consensus, clients, locks, sessions, ledger, disk, http, gpu, "
              "links; SIGHUP reads it anew from the file of --config, and gcoordctl log level "
              "sets it until the node ends (default info)",
              &log_level},
    OptionRow{"log-format",
              OptionShape::Value,
              "text|json",
              "text: lines for people; json: one JSON object a line (default text)",
              &log_format},
    OptionRow{"log-file",
              OptionShape::Value,
              "FILE",
              "append the log to FILE, not to stderr; SIGHUP opens it anew, for rotation",
              &path<&NodeOptions::log_file>},
};

std::string translate(std::string_view name, bool upper) {
  std::string out;
  for (const char c : name) {
    const char translated = c == '-' ? '_' : c;
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(translated)))
                 : translated;
  }
  return out;
}

}  // namespace

std::span<const OptionRow> option_table() {
  return kTable;
}

const OptionRow* find_option(std::string_view name) {
  const auto* row = std::find_if(
      kTable.begin(), kTable.end(), [&](const OptionRow& each) { return each.name == name; });
  return row == kTable.end() ? nullptr : row;
}

Status apply_option(const OptionRow& row, const std::string& text, NodeOptions& options) {
  Status status = row.apply(text, options);
  return status.ok() || !row.secret ? status : wrong("the value, which is secret, is not valid");
}

std::string environment_name(std::string_view name) {
  return "GCOORD_" + translate(name, true);
}

std::string toml_name(std::string_view name) {
  return translate(name, false);
}

}  // namespace gcoord::server
