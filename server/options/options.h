// Options of gcoordd, with defaults, ranges and the reason for each.
//
// An option comes from a flag (--tick-ms 10), the environment (GCOORD_TICK_MS=10), a TOML file
// (tick_ms = 10), or its default, in this order of precedence. Every option is validated once,
// here; nobody else checks again. A refusal names the source of the bad value, what is allowed and
// what to do.
#pragma once

#include "common/device/device_calls.h"
#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/inbox.h"
#include "ledger/history/keeping.h"
#include "protocol/members/cluster_view.h"
#include "protocol/members/join_messages.h"
#include "server/gpu_policy/policy.h"
#include "server/log_levels/levels.h"
#include "server/platform/choices.h"
#include "server/platform/device_choice.h"
#include "server/platform/endpoint_name.h"
#include "server/tls/choices.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// --peer ID=HOST:PORT[,CLIENTHOST:CLIENTPORT]
struct PeerOption {
  NodeId id;
  Endpoint peer;    // Where the node listens for its peers.
  Endpoint client;  // Told to clients; empty: what the node itself announces.
};

enum class PeerTransport : std::uint8_t { Tcp, Ucx };

// --peer-proof permissive|required
enum class PeerProof : std::uint8_t { Permissive, Required };

using consensus::Durability;

// --log-format text|json
enum class LogFormat : std::uint8_t { Text, Json };

// --turn host|resident
enum class TurnOption : std::uint8_t { Host, Resident };

// The defaults of a node's ports. Where --listen-client has another port, the defaults of the other
// two lie as far from theirs: 7420 goes with 7520 and 7620.
inline constexpr std::uint16_t kClientPortDefault = 7400;
inline constexpr std::uint16_t kPeerPortDefault = 7500;
inline constexpr std::uint16_t kMetricsPortDefault = 7600;

// Where clients get shared memory unless --listen-shm names another place, and its word for none.
inline constexpr std::string_view kShmSocketName = "client.shm";
inline constexpr std::string_view kShmOff = "off";

// Validated. Times are milliseconds.
struct NodeOptions {
  NodeId node{1};
  std::string cluster_name = "gcoord";
  ClusterId cluster;              // From --cluster-id, else a hash of the name.
  std::vector<PeerOption> peers;  // The other nodes, by rising id; this node is not in it.

  Endpoint listen_client{"127.0.0.1", kClientPortDefault};
  std::string listen_unix;  // A Unix socket for clients besides; empty: none.
  // A Unix socket by which clients get shared memory; empty: kShmSocketName in the data directory,
  // if there can be one; kShmOff: none.
  std::string listen_shm;
  std::uint32_t unix_mode = 0600;  // Of both sockets.
  Endpoint listen_peer{"127.0.0.1", kPeerPortDefault};
  Endpoint listen_metrics{"127.0.0.1", kMetricsPortDefault};  // Empty: off.
  Endpoint listen_ledger;                                     // Empty: off.
  // What clients are told: --advertise-client, else from --peer of this node, else listen_client.
  Endpoint advertise_client;
  // What the cluster view says: --advertise-peer, else from --peer of this node, else listen_peer.
  Endpoint advertise_peer;
  // Client addresses of a cluster that a node without a directory joins, and its leave to do so.
  std::vector<Endpoint> join;  // Empty: it founds one with its peers, or has a directory.
  std::optional<protocol::JoinToken> join_token;
  std::uint32_t view_after_ms = 600'000;             // As ViewKeeperOptions::pause_ms.
  std::string member_name;                           // In the first cluster view; empty: "node-ID".
  std::vector<protocol::MemberLabel> member_labels;  // The same, by rising key.
  std::string data_dir;
  // Set by no option: the view in the directory says that this node is a witness.
  bool witness = false;
  std::uint32_t shards = 65536;
  std::uint32_t checkpoint_interval_ms = 30'000;
  Durability durability = Durability::Durable;
  // The operator's word that this node may come back without the memory that it has lost.
  bool rejoin = false;

  std::uint32_t tick_ms = 10;
  // As etcd: ten heartbeats may be late before a leader is doubted.
  std::uint32_t election_ms = 1000;
  std::uint32_t heartbeat_ms = 100;
  // Failure detection (membership/detector): phi, as Akka's default; and longer than a process is
  // stopped for a snapshot of its machine. A kill needs no silence.
  std::uint32_t suspicion = 8;
  std::uint32_t silence_ms = 2500;
  std::uint32_t probe_interval_ms = 100;
  std::uint32_t replace_after_ms = 300'000;  // 0: no alarm; and the next.
  std::uint32_t converge_after_ms = 600'000;

  std::uint32_t ttl_ms_max = 24u * 60 * 60 * 1000;
  std::uint32_t connections_max = 4096;
  std::uint32_t source_connections_max = 0;  // 0: three quarters of all.
  std::uint64_t client_memory_bytes = 0;     // 0: by the number of connections.
  // Of one principal on this node, where no limit of the cluster says otherwise; 0: half of
  // connections_max, and as IdentityLimits says (server/limits/judge.h).
  std::uint32_t identity_connections_max = 0;
  std::uint32_t identity_sessions_max = 0;
  // Of connections: with nothing outstanding; from accept to the end of the Hello.
  std::uint32_t idle_ms = 600'000;
  std::uint32_t handshake_ms = 5'000;
  std::uint32_t locks_max = 16u << 20;
  std::uint32_t waiters_max = 4u << 20;
  std::uint32_t sessions_max = 16u << 20;
  std::uint32_t session_locks_max = 0;  // Of one session; 0: no limit.

  PeerTransport peer_transport = PeerTransport::Tcp;
  // The file with the secret that all nodes of the cluster share; empty: cluster.secret in the data
  // directory, if it is there. And what other nodes have to prove; none: required, once this node
  // has a secret.
  std::string cluster_secret;
  std::optional<PeerProof> peer_proof;
  DeviceChoice device;
  TurnOption turn = TurnOption::Host;
  std::uint32_t turn_threads = 0;           // Of the turn on the host; 0: by the processors.
  std::optional<std::uint32_t> io_threads;  // Empty: by the processors; 0: the loop's alone.
  IoBackendWish io_backend = IoBackendWish::Auto;
  // Of the resident turn (device_turn_view.h); 0: by the number of shards.
  std::uint32_t turn_stripes = 0;
  ResidentPeers resident_peers = ResidentPeers::Auto;
  // A door for tests, from the environment only (GCOORD_DEVICE_FAULT): fails the device on purpose.
  DeviceFaultPlan device_fault;
  // The same (GCOORD_DEVICE_SWEEPS=always): the device sweeps also what is small.
  bool device_sweeps_always = false;
  // What the node does about faults of its GPU, and for how long one lasts that is not seen again.
  GpuPolicy gpu_policy;  // As it was given; gpu_policy_of() has the one that counts.
  std::uint32_t gpu_quiet_ms = 600'000;
  // Set by no option: this process has opened the node anew after a fault of its GPU.
  bool gpu_reopened = false;
  // A door for tests, from the environment only (GCOORD_NVML): another library in place of NVML, of
  // which `--device twin` has the first GPU for its own. Empty: NVML.
  std::string nvml_library;
  std::uint32_t deadlock_interval_ms = 1000;  // 0: deadlocks are not looked for.
  CoordinatorMethod coordinator = CoordinatorMethod::Raft;
  SessionKeyMode session_keys = SessionKeyMode::Auto;
  std::uint32_t token_life_ms = 600'000;
  SessionNotes session_notes = SessionNotes::Identified;
  std::string first_admin;  // Of a cluster that begins with rights checked; empty: it does not.
  // One of so many steps of a device is done again on the host; 0: nothing is checked.
  std::uint32_t device_check_one_in = consensus::kDeviceCheckOneIn;
  bool insecure = false;
  TlsChoices tls;
  ledger::KeepPolicy ledger_keep_heads;                       // Of the cluster log; without an age.
  std::uint32_t ledger_prune_delay_ms = 24 * 60 * 60 * 1000;  // Of an order that nobody confirms.
  ledger::KeepPolicy ledger_keep;  // Of each shard's history; all of it by default.
  // Of the histories of all shards together; 0: no bound. Empty: by the file system, and by the
  // release that made the data directory (ledger_bytes_max() in server/node/ledger_bound.h).
  std::optional<std::uint64_t> ledger_bytes_max;
  std::string trace_file;     // Empty: no trace.
  bool cpu_profiles = false;  // Whoever reaches the metrics port may have one made.
  // A request that is answered so late gets a line of the log; 0: none does. A second is what an
  // election takes by default, and far more than any request takes in a cluster that is well.
  std::uint32_t slow_request_ms = 1000;
  LogLevels log_levels = LogLevels::all(LogLevel::Plain);
  LogFormat log_format = LogFormat::Text;
  std::string log_file;  // Empty: stderr.
};

// One value that was given, and by which source.
struct GivenOption {
  std::string name;  // As in OptionRow::name.
  std::string text;
  std::string source;  // "--tick-ms", "GCOORD_TICK_MS" or "FILE: tick_ms (line 3)".
};

enum class Verb : std::uint8_t {
  Run,
  Dev,      // One node, no set-up.
  Help,     // Print Invocation::text and end with success.
  Version,  // The same.
};

// What is done with the options of Run and Dev.
enum class Purpose : std::uint8_t {
  Serve,
  CheckConfig,      // --check-config: names what is wrong with them, and ends.
  PrintConfig,      // --print-config: prints them with their sources, and ends.
  ForceNewCluster,  // --force-new-cluster: makes a new cluster of the data directory, and ends.
  AuthRecover,      // --auth-recover: lets the stopped node help to switch rights off, and ends.
};

// What goes with --force-new-cluster; `confirm` with --auth-recover, too.
struct ForceFlags {
  bool dry_run = false;                // Only says what is there.
  std::optional<std::string> confirm;  // The old cluster's id; none: somebody types it.
};

struct Invocation {
  Verb verb = Verb::Run;
  Purpose purpose = Purpose::Serve;
  ForceFlags force;
  std::string text;
  std::vector<GivenOption> given;  // The values that count, none that a stronger source replaced.
  NodeOptions options;
  bool data_dir_temporary = false;  // Dev without --data-dir: the caller makes one and removes it.
};

// Whether some source gave the option of this name, without "--".
bool is_given(const Invocation& invocation, std::string_view name);

// Looks up an environment variable; a parameter so that tests bring their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The arguments after the program's name. Failures are InvalidArgument or NotFound with a GC1xxx
// number (protocol/error_codes.h). Reads the file named by --config and nothing else.
Result<Invocation> parse_invocation(std::span<const std::string> arguments,
                                    const Environment& environment);

// The same, and everything that is wrong, not only the first of it. `problems` is empty exactly
// when parse_invocation would succeed; its first is then what parse_invocation fails with. The
// result has the purpose and the valid values, also with problems.
Invocation examine_invocation(std::span<const std::string> arguments,
                              const Environment& environment,
                              std::vector<Status>& problems);

// The node turned out to have this id, which no source gave: what --peer says of it counts anew.
// Failures: those of parse_invocation.
Status name_node(NodeId node, Invocation& invocation);

// The id of a cluster that was given only a name: never 0.
ClusterId cluster_id_of(std::string_view name);

// "durable" or "memory".
std::string_view durability_name(Durability durability);

// What the node does about faults of its GPU: with less of a default where its state is in memory
// alone (gpu_policy_in_memory()).
GpuPolicy gpu_policy_of(const NodeOptions& options);

// What is wrong with times that do not fit each other, whatever their sources; OK: nothing.
Status check_times(const NodeOptions& options);

// The session TTL that nodes with these options can keep: a few heartbeats.
std::uint32_t ttl_ms_min(const NodeOptions& options);

}  // namespace gcoord::server
