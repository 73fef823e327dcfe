#include "server/options/options.h"

#include "common/name_hash.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"
#include "server/options/option_sources.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::size_t kNodesMax = 7;  // Voters of one shard; more than any failure plan asks for.

Status refuse(std::string evidence) {
  return protocol::make_error(protocol::ErrorCode::OptionInvalid, evidence);
}

using Problems = std::vector<Status>;

void note(Status status, Problems& problems) {
  if (!status.ok()) {
    problems.push_back(std::move(status));
  }
}

// The sources of one invocation, the strongest first.
struct Sources {
  Invocation& invocation;
  Problems& problems;
  std::set<std::string> settled;  // Options that a stronger source gave.
};

// Applies one source; a list given by a stronger source replaces the weaker one's.
void apply_source(const std::vector<GivenOption>& given, Sources& sources) {
  std::set<std::string> here;
  for (const GivenOption& option : given) {
    if (sources.settled.contains(option.name)) {
      continue;
    }
    const OptionRow* row = find_option(option.name);
    GCOORD_ASSERT(row != nullptr);
    const Status status = apply_option(*row, option.text, sources.invocation.options);
    if (!status.ok()) {
      sources.problems.push_back(refuse(option.source + ": " + status.message()));
    }
    sources.invocation.given.push_back(option);
    here.insert(option.name);
  }
  sources.settled.merge(here);
}

// What listens beyond loopback speaks TLS and nothing else, or the operator says that he knows.
Status check_listen(std::string_view flag, const Endpoint& endpoint, bool secure) {
  if (endpoint.empty() || secure || is_loopback(endpoint)) {
    return Status{};
  }
  return protocol::make_error(protocol::ErrorCode::ListenInsecure,
                              "--" + std::string(flag) + " " + to_string(endpoint));
}

// The flag counts first, then what --peer says of this node, then where it listens.
void settle_address(const Endpoint& listed, const Endpoint& listen, Endpoint& advertised) {
  if (advertised.empty()) {
    advertised = listed.empty() ? listen : listed;
  }
}

// Sorts, refuses duplicates, takes this node out of the list and its client address with it.
Status settle_peers(NodeOptions& options) {
  auto& peers = options.peers;
  std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::set<std::string> addresses;
  std::set<std::string> clients;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i > 0 && peers[i].id == peers[i - 1].id) {
      return refuse("--peer names node " + std::to_string(peers[i].id.value) + " twice");
    }
    if (!addresses.insert(to_string(peers[i].peer)).second) {
      return refuse("--peer gives " + to_string(peers[i].peer) + " to two nodes");
    }
    if (!peers[i].client.empty() && !clients.insert(to_string(peers[i].client)).second) {
      return refuse("--peer gives the client address " + to_string(peers[i].client) +
                    " to two nodes");
    }
  }
  const auto self = std::find_if(
      peers.begin(), peers.end(), [&](const auto& each) { return each.id == options.node; });
  PeerOption own;
  if (self != peers.end()) {
    own = *self;
    peers.erase(self);
  }
  settle_address(own.client, options.listen_client, options.advertise_client);
  settle_address(own.peer, options.listen_peer, options.advertise_peer);
  if (peers.size() + 1 > kNodesMax) {
    return refuse("--peer makes a cluster of " + std::to_string(peers.size() + 1) +
                  " nodes; at most " + std::to_string(kNodesMax) + " are possible");
  }
  return Status{};
}

// Sorts the labels of this node; its name cannot be judged before its id is known.
Status settle_member(NodeOptions& options) {
  std::sort(options.member_labels.begin(),
            options.member_labels.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  if (!protocol::are_member_labels(options.member_labels)) {
    return refuse("--label names a key twice, or there are more than " +
                  std::to_string(protocol::kMemberLabelsMax) + " labels");
  }
  // The cluster gives the id of a node that joins, and then judges its name.
  if (!options.member_name.empty() && options.join.empty() &&
      !protocol::is_member_name(options.member_name, options.node)) {
    return refuse("--member-name '" + options.member_name + "' is no name for node " +
                  std::to_string(options.node.value) + "; node-N is a name for node N only");
  }
  return Status{};
}

// Of a node that joins a cluster with nothing but addresses and a token.
Status check_join(const NodeOptions& options, bool dev) {
  if (options.join.empty() != !options.join_token.has_value()) {
    return refuse(options.join.empty()
                      ? "--join-token is given without --join; give the client addresses of the "
                        "cluster's nodes"
                      : "--join is given without --join-token; gcoordctl member add makes one");
  }
  if (!options.join.empty() && dev) {
    return refuse("dev runs one node alone; leave out --join");
  }
  return Status{};
}

// A fault is injected only where somebody set the variable by name, and never without a device to
// inject it into.
Status take_device_fault(const Environment& environment, NodeOptions& options) {
  const auto text = environment("GCOORD_DEVICE_FAULT");
  if (!text.has_value() || text->empty()) {
    return Status{};
  }
  const auto plan = parse_device_fault(*text);
  if (!plan.ok()) {
    return refuse("GCOORD_DEVICE_FAULT: " + plan.status().message());
  }
  if (!options.device.names_device()) {
    return refuse("GCOORD_DEVICE_FAULT is set, but --device names no GPU");
  }
  if (plan.value().kind == DeviceFaultPlan::Kind::Flip && options.turn == TurnOption::Resident) {
    return refuse("GCOORD_DEVICE_FAULT: flip is a fault of --turn host");
  }
  if (plan.value().kind == DeviceFaultPlan::Kind::Hang && options.turn == TurnOption::Resident &&
      options.device.kind == DeviceChoice::Kind::Twin) {
    return refuse(
        "GCOORD_DEVICE_FAULT: the host emulation of --turn resident has no launch that can hang");
  }
  if (plan.value().part == DeviceFaultPlan::Part::Sweeps && options.turn == TurnOption::Resident) {
    return refuse("GCOORD_DEVICE_FAULT: with --turn resident the host does the sweeps");
  }
  options.device_fault = plan.value();
  return Status{};
}

// For tests, whose sessions and waits are too few for a device.
Status take_device_sweeps(const Environment& environment, NodeOptions& options) {
  const auto text = environment("GCOORD_DEVICE_SWEEPS");
  if (!text.has_value() || text->empty()) {
    return Status{};
  }
  if (*text != "always" || !options.device.names_device()) {
    return refuse("GCOORD_DEVICE_SWEEPS can only be 'always', and needs a GPU in --device");
  }
  options.device_sweeps_always = true;
  return Status{};
}

// For tests, on machines without a GPU.
Status take_nvml(const Environment& environment, NodeOptions& options) {
  const auto text = environment("GCOORD_NVML");
  if (!text.has_value() || text->empty()) {
    return Status{};
  }
  if (!options.device.names_device()) {
    return refuse("GCOORD_NVML is set, but --device names no GPU");
  }
  options.nvml_library = *text;
  return Status{};
}

// What `dev` takes where nobody chose: TLS by certificates of its own, and plain text besides, so
// that a client needs no file for its first lock. Whoever brings a certificate chooses as ever.
void settle_dev_tls(TlsChoices& choices) {
  if (!choices.files.certificate.empty()) {
    return;
  }
  choices.client = choices.client.value_or(TlsMode::Permissive);
  choices.http = choices.http.value_or(*choices.client);
}

// `file_hidden`: the file of --config could not be read, so that what it says is not missing.
void settle(Invocation& invocation, bool file_hidden, Problems& problems) {
  NodeOptions& options = invocation.options;
  const bool dev = invocation.verb == Verb::Dev;
  if (dev && !options.peers.empty()) {
    problems.push_back(refuse("dev runs one node alone; leave out --peer"));
  }
  invocation.data_dir_temporary = dev && options.data_dir.empty();
  if (options.data_dir.empty() && !dev && !file_hidden) {
    problems.push_back(protocol::make_error(protocol::ErrorCode::OptionMissing, "--data-dir DIR"));
  }
  note(check_times(options), problems);
  note(settle_peers(options), problems);
  note(settle_member(options), problems);
  note(check_join(options, dev), problems);
  if ((!options.peers.empty() || !options.join.empty()) && options.listen_peer.port == 0) {
    problems.push_back(refuse("--listen-peer has port 0, which the other nodes cannot know"));
  }
  if (dev) {
    settle_dev_tls(options.tls);
  }
  // Files that dev is not given it makes, in the data directory (cli/gcoordd/dev_certificates.h).
  const bool makes_files =
      dev && options.tls.files.certificate.empty() && options.tls.files.key.empty();
  note(makes_files ? Status{} : check_tls(options.tls), problems);
  const auto secure = [&options](std::optional<TlsMode> chosen) {
    return options.insecure || tls_mode(options.tls, chosen) == TlsMode::Required;
  };
  const bool http_secure = secure(options.tls.http);
  note(check_listen("listen-client", options.listen_client, secure(options.tls.client)), problems);
  const bool peer_secure = options.insecure || options.tls.peer == TlsMode::Required;
  note(check_listen("listen-peer", options.listen_peer, peer_secure), problems);
  note(check_listen("listen-metrics", options.listen_metrics, http_secure), problems);
  note(check_listen("listen-ledger", options.listen_ledger, http_secure), problems);
  if (options.cluster.value == 0) {
    options.cluster = cluster_id_of(options.cluster_name);
  }
  if (ttl_ms_min(options) > options.ttl_ms_max) {
    problems.push_back(refuse("--session-ttl-max is shorter than " +
                              std::to_string(ttl_ms_min(options)) +
                              " ms, the shortest TTL that these heartbeats can keep"));
  }
}

// The file of --config, else of GCOORD_CONFIG. False when nothing in it could be read.
bool apply_file(const std::string& file, Sources& sources) {
  const auto text = read_config_file(file);
  if (!text.ok()) {
    sources.problems.push_back(text.status());
    return false;
  }
  const std::size_t before = sources.problems.size();
  const auto given = examine_toml(text.value(), file, sources.problems);
  const bool read = !given.empty() || sources.problems.size() == before;
  apply_source(given, sources);
  return read;
}

// Gives an address that no source gave the port that lies as far from its default as the client
// port lies from its own.
Status follow_client_port(std::string_view flag, std::uint16_t client_port, Endpoint& endpoint) {
  const int port = endpoint.port + client_port - kClientPortDefault;
  if (port < 1 || port > 65'535) {
    return refuse("--listen-client with port " + std::to_string(client_port) +
                  " leaves no port for the default of --" + std::string(flag) + "; give it, too");
  }
  endpoint.port = static_cast<std::uint16_t>(port);
  return Status{};
}

// So that several nodes of one host differ by their client ports alone.
Status follow_client_port(const std::set<std::string>& given, NodeOptions& options) {
  const std::uint16_t client_port = options.listen_client.port;
  if (client_port == 0) {
    return Status{};
  }
  if (!given.contains("listen-peer")) {
    GCOORD_TRY_STATUS(follow_client_port("listen-peer", client_port, options.listen_peer));
  }
  if (!given.contains("listen-metrics")) {
    GCOORD_TRY_STATUS(follow_client_port("listen-metrics", client_port, options.listen_metrics));
  }
  return Status{};
}

// What `dev` takes instead of the defaults; any source overrides it.
void set_dev_defaults(NodeOptions& options) {
  options.cluster_name = "gcoord-dev";
  options.shards = 1024;
  options.listen_peer = Endpoint{"127.0.0.1", 0};
  options.listen_metrics = Endpoint{};
  options.log_levels = LogLevels::all(LogLevel::Warning);
}

}  // namespace

ClusterId cluster_id_of(std::string_view name) {
  const NameHash hash = hash_name(name);
  return ClusterId{hash.low == 0 ? 1 : hash.low};
}

GpuPolicy gpu_policy_of(const NodeOptions& options) {
  return options.durability == Durability::Memory ? gpu_policy_in_memory(options.gpu_policy)
                                                  : options.gpu_policy;
}

std::string_view durability_name(Durability durability) {
  return durability == Durability::Memory ? "memory" : "durable";
}

Status check_times(const NodeOptions& options) {
  if (options.heartbeat_ms < options.tick_ms) {
    return refuse("--heartbeat-ms " + std::to_string(options.heartbeat_ms) +
                  " is shorter than a tick of " + std::to_string(options.tick_ms) + " ms");
  }
  if (options.election_ms < 10 * options.tick_ms) {
    return refuse("--election-ms " + std::to_string(options.election_ms) +
                  " is shorter than 10 ticks of " + std::to_string(options.tick_ms) + " ms");
  }
  if (options.election_ms < 3 * options.heartbeat_ms) {
    return refuse("--election-ms " + std::to_string(options.election_ms) +
                  " is shorter than 3 heartbeats of " + std::to_string(options.heartbeat_ms) +
                  " ms");
  }
  return Status{};
}

std::uint32_t ttl_ms_min(const NodeOptions& options) {
  return std::max(protocol::kTtlMsMin, 4 * options.tick_ms);
}

Status name_node(NodeId node, Invocation& invocation) {
  NodeOptions& options = invocation.options;
  options.node = node;
  options.peers.clear();
  options.advertise_client = Endpoint{};
  options.advertise_peer = Endpoint{};
  for (const GivenOption& given : invocation.given) {
    if (given.name == "peer" || given.name.starts_with("advertise-")) {
      GCOORD_TRY_STATUS(apply_option(*find_option(given.name), given.text, options));
    }
  }
  GCOORD_TRY_STATUS(settle_peers(options));
  return settle_member(options);
}

Invocation examine_invocation(std::span<const std::string> arguments,
                              const Environment& environment,
                              std::vector<Status>& problems) {
  Invocation invocation;
  auto arguments_read = parse_arguments(arguments);
  if (!arguments_read.ok()) {
    // CLI11 ends at the first bad argument. Whether a check was requested is seen all the same.
    const bool check =
        std::find(arguments.begin(), arguments.end(), "--check-config") != arguments.end();
    invocation.purpose = check ? Purpose::CheckConfig : Purpose::Serve;
    problems.push_back(arguments_read.status());
    return invocation;
  }
  ParsedArguments parsed = std::move(arguments_read).value();
  invocation.verb = parsed.verb;
  invocation.purpose = parsed.purpose;
  invocation.force = std::move(parsed.force);
  invocation.text = std::move(parsed.text);
  if (parsed.verb == Verb::Help || parsed.verb == Verb::Version) {
    return invocation;
  }
  if (parsed.verb == Verb::Dev) {
    set_dev_defaults(invocation.options);
  }
  Sources sources{invocation, problems, {}};
  apply_source(parsed.given, sources);
  apply_source(parse_environment(environment), sources);
  const auto config = parsed.config_file.empty() ? environment("GCOORD_CONFIG")
                                                 : std::optional<std::string>(parsed.config_file);
  const bool file_hidden = config.has_value() && !config->empty() && !apply_file(*config, sources);
  if (invocation.verb == Verb::Run) {
    note(follow_client_port(sources.settled, invocation.options), problems);
  }
  settle(invocation, file_hidden, problems);
  const bool offline =
      invocation.purpose == Purpose::ForceNewCluster || invocation.purpose == Purpose::AuthRecover;
  if (invocation.verb == Verb::Dev && offline) {
    const bool force = invocation.purpose == Purpose::ForceNewCluster;
    problems.push_back(refuse(std::string(force ? "--force-new-cluster" : "--auth-recover") +
                              " is not for dev; name the directory"));
  }
  note(take_device_fault(environment, invocation.options), problems);
  note(take_device_sweeps(environment, invocation.options), problems);
  note(take_nvml(environment, invocation.options), problems);
  return invocation;
}

bool is_given(const Invocation& invocation, std::string_view name) {
  return std::ranges::find(invocation.given, name, &GivenOption::name) != invocation.given.end();
}

Result<Invocation> parse_invocation(std::span<const std::string> arguments,
                                    const Environment& environment) {
  std::vector<Status> problems;
  Invocation invocation = examine_invocation(arguments, environment, problems);
  if (!problems.empty()) {
    return problems.front();
  }
  return invocation;
}

}  // namespace gcoord::server
