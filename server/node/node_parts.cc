#include "server/node/node_parts.h"

#include "common/assert.h"
#include "common/host/processors.h"
#include "server/platform/boot_time.h"
#include "server/platform/system_random.h"
#include "server/platform/version.h"
#include "server/resident/engine/shape.h"
#include "sessions/sweep_guard.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

std::vector<NodeId> all_nodes(const NodeOptions& options) {
  std::vector<NodeId> nodes{options.node};
  for (const PeerOption& peer : options.peers) {
    nodes.push_back(peer.id);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// The log's, the ledger's and the kernel's own work take the other processors, and more threads
// bring little (docs/internals/threads.md).
std::uint32_t usual_turn_threads(std::uint32_t processors) {
  return std::clamp(processors / 8, 1u, 4u);
}

// Distance between the campaigns of voters. Who sends its pre-votes first goes first when they
// cross (consensus/step/votes.h), so it need not be longer than voters take to find the same node
// silent, and an answer to arrive; it adds to every failover.
constexpr std::uint32_t kStaggerMs = 20;
constexpr std::uint32_t kStaggerTicksMin = 2;

// Voters find a dead node silent within a tick of this length of one another; where ticks are
// shorter, one may be refused by another that has not found out yet.
constexpr std::uint32_t kRetryMs = 10;

// Threads that follow a resident turn take as much work from the loop as handing it over costs the
// loop (docs/internals/performance_nodes.md), and the processors that they look with: nobody has
// any who asked for none.
std::uint32_t turn_threads(const NodeOptions& options) {
  const std::uint32_t usual =
      options.turn == TurnOption::Resident ? 1 : usual_turn_threads(usable_processors());
  return options.turn_threads != 0 ? options.turn_threads : usual;
}

}  // namespace

// The quota of a session counts what it has in the tables and what is on its way to them: tables
// that are ahead would have both.
std::uint32_t part_shards(const NodeOptions& options) {
  if (options.turn != TurnOption::Resident || options.session_locks_max != 0) {
    return 0;
  }
  ReplicaOptions shape;
  shape.shard_count = options.shards;
  shape.turn_stripes = options.turn_stripes;
  shape.turn_threads = turn_threads(options);
  return resident_part_shards(shape);
}

consensus::Timing timing_of(const NodeOptions& options) {
  consensus::Timing timing;
  timing.election_ticks = options.election_ms / options.tick_ms;
  timing.resend_ticks = options.heartbeat_ms / options.tick_ms;
  // Neither may take a large part of a short timeout.
  const std::uint32_t tenth = timing.election_ticks / 10;
  timing.stagger_ticks = std::max(kStaggerTicksMin, std::min(kStaggerMs / options.tick_ms, tenth));
  timing.retry_ticks =
      options.tick_ms < kRetryMs ? std::clamp(tenth / 2, 1u, kRetryMs / options.tick_ms) : 0;
  // A tenth of the timeout: clocks that differ by less than 10 % never break a leader lease.
  timing.lease_margin_ticks = std::max(1u, tenth);
  return timing;
}

NodeHistoryOptions history_options(const NodeOptions& options, MetricsRegistry& metrics) {
  NodeHistoryOptions result;
  result.shard_count = options.shards;
  result.durable = options.durability == Durability::Durable;
  // Beside a kernel that stays on its device nothing else comes to run there (docs/adr/0030).
  result.device = options.turn == TurnOption::Host ? options.device : DeviceChoice{};
  result.keep = options.ledger_keep;
  result.wall_ms = wall_ms;
  result.metrics = &metrics;
  return result;
}

NodeLedgerOptions ledger_options(const NodeOptions& options) {
  return {.cluster = options.cluster,
          .node = options.node,
          .nodes = all_nodes(options),
          .shard_count = options.shards,
          .data_directory = options.data_dir,
          .keep = options.ledger_keep_heads,
          .on_device = options.turn == TurnOption::Resident,
          .silent_for = options.witness ? kWitnessPublishesNothing : nullptr};
}

namespace {

protocol::RequestLimits request_limits(const NodeOptions& options) {
  return {options.shards, ttl_ms_min(options), options.ttl_ms_max};
}

}  // namespace

LockServiceOptions service_options(const NodeOptions& options,
                                   const ledger::SpaceGuard& space,
                                   std::function<bool()> drains) {
  LockServiceOptions result;
  result.node = options.node;
  result.nodes = all_nodes(options);
  result.tick_ms = options.tick_ms;
  result.election_ticks = options.election_ms / options.tick_ms;
  result.limits = request_limits(options);
  result.caps = {options.locks_max, options.waiters_max, options.sessions_max};
  result.on_device = options.turn == TurnOption::Resident;
  result.part_shards = part_shards(options);
  if (result.on_device) {
    result.caps.locks_max = std::min(result.caps.locks_max, kResidentLocksMax);
    result.caps.sessions_max = std::min(result.caps.sessions_max, kResidentLocksMax);
    result.caps.waiters_max = std::min(result.caps.waiters_max, kResidentLocksMax);
  }
  result.session_locks_max = options.session_locks_max;
  result.index_seed = draw_random();
  result.disk_is_low = [&space] { return space.is_low(); };
  result.drains = std::move(drains);
  result.wall_ms = wall_ms;
  result.slow_request_ms = options.slow_request_ms;
  result.deadlock_interval_ms = options.deadlock_interval_ms;
  result.coordinator = options.coordinator;
  result.witness = options.witness;
  return result;
}

ReplicaOptions engine_options(const NodeStart& start) {
  const NodeOptions& options = start.options();
  ReplicaOptions result;
  result.cluster = options.cluster;
  result.former_cluster = start.former ? start.former->cluster : ClusterId{0};
  result.node = options.node;
  result.shard_count = options.shards;
  for (const PeerOption& peer : options.peers) {
    result.peers.push_back({peer.id, peer.peer.host, peer.peer.port});
  }
  const protocol::ClusterView& view = start.kept.view();
  result.members_epoch = view.epoch;
  for (const protocol::Member& member : view.nodes) {
    if (member.state == protocol::MemberState::Removed) {
      result.removed.push_back(member.id);
    }
  }
  // In place of a damaged directory stands one that has promised something before.
  // On a device whoever joins takes a number that was somebody's before, in every shard.
  result.joins =
      start.kept.joined_by.has_value() && !start.carried && options.turn == TurnOption::Host;
  result.witness = options.witness;
  result.carried = start.carried;
  result.listen_host = options.listen_peer.host;
  result.listen_port = options.listen_peer.port;
  result.transport_kind = options.peer_transport == PeerTransport::Tcp
                              ? netcore::TransportKind::Tcp
                              : netcore::TransportKind::Ucx;
  result.data_directory = options.data_dir;
  result.device = options.device;
  result.device_fault = options.device_fault.of(DeviceFaultPlan::Part::Turn);
  result.device_check_one_in = options.device_check_one_in;
  result.turn_threads = turn_threads(options);
  result.turn_stripes = options.turn_stripes;
  result.resident_peers = options.resident_peers;
  result.tick_ms = options.tick_ms;
  result.timing = timing_of(options);
  result.checkpoint_interval_ms = options.checkpoint_interval_ms;
  result.durability = options.durability;
  result.rejoin = options.rejoin;
  return result;
}

Status start_sweeps(const NodeOptions& options, const ReplicatedLog& engine, LockService& service) {
  if (options.turn == TurnOption::Resident) {
    return {};
  }
  GCOORD_TRY(const DeviceChoice chosen, parse_device_choice(engine.view().stepper.name));
  auto opened = open_sweep_device(chosen);
  if (opened.ok() && opened.value() != nullptr) {
    opened = sessions::guard_sweep_device(std::move(opened).value(),
                                          options.device_fault.of(DeviceFaultPlan::Part::Sweeps));
  }
  DeviceSweepsOptions sweeps;
  sweeps.check_one_in = options.device_check_one_in;
  sweeps.clock_us = [] { return boot_time_us(); };
  if (options.device_sweeps_always) {
    sweeps.rows_min = 0;
    sweeps.edges_min = 0;
  }
  return service.sweeps().start(std::move(opened), std::move(sweeps));
}

// Absolute, as a socket's address must be.
std::string shm_path(const NodeOptions& options) {
  if (options.listen_shm == kShmOff) {
    return {};
  }
  if (!options.listen_shm.empty()) {
    return options.listen_shm;
  }
  std::error_code failed;
  const auto folder = std::filesystem::absolute(options.data_dir, failed);
  return failed ? std::string{} : (folder / kShmSocketName).lexically_normal().string();
}

OwnNode own_node(const NodeStart& start) {
  return {.cluster = start.options().cluster,
          .node = start.options().node,
          .former = start.former ? start.former->cluster : ClusterId{}};
}

FrontEndOptions frontend_options(const NodeOptions& options, const PortTls& tls) {
  FrontEndOptions result;
  if (options.witness) {
    // So that clients of earlier releases, too, look for another node to watch from.
    result.features &= ~static_cast<std::uint64_t>(protocol::Feature::Watches);
  }
  result.listen = options.listen_client;
  result.local = {.stream = options.listen_unix,
                  .rings = shm_path(options),
                  .must_have_rings = !options.listen_shm.empty(),
                  .mode = options.unix_mode};
  result.limits = {.connections_max = options.connections_max,
                   .source_connections_max = options.source_connections_max,
                   .bytes_max = options.client_memory_bytes};
  result.sweep.idle_ms = options.idle_ms;
  result.sweep.hello_ms = options.handshake_ms;
  result.io = {.thread_count = options.io_threads.value_or(usual_io_threads(usable_processors())),
               .backend = options.io_backend,
               .tls = &tls,
               .ingress = IngressRules{.limits = request_limits(options),
                                       .entries = options.turn == TurnOption::Resident}};
  return result;
}

void tell_settings(const NodeOptions& options, MetricsRegistry& metrics) {
  metrics
      .gauge({"gcoord_server_durability",
              "1 for the durability mode of this node",
              "mode",
              std::string(durability_name(options.durability))})
      .set(1);
  metrics.gauge({"gcoord_server_shards", "Shards of the cluster"}).set(options.shards);
  metrics
      .gauge({"gcoord_server_witness",
              "1 for a node that votes and has the log and no state: a witness"})
      .set(options.witness ? 1 : 0);
}

protocol::Welcome make_welcome(const NodeOptions& options, std::uint16_t client_port) {
  protocol::Welcome welcome;
  welcome.cluster = options.cluster;
  welcome.node = options.node;
  welcome.shard_count = options.shards;
  welcome.tick_ms = options.tick_ms;
  welcome.election_ms = options.election_ms;
  welcome.ttl_ms_min = ttl_ms_min(options);
  welcome.ttl_ms_max = options.ttl_ms_max;
  welcome.nodes.push_back({options.node, own_address(options, client_port)});
  for (const PeerOption& peer : options.peers) {
    welcome.nodes.push_back(
        {peer.id, peer.client.empty() ? std::string{} : to_string(peer.client)});
  }
  std::sort(welcome.nodes.begin(), welcome.nodes.end(), [](const auto& a, const auto& b) {
    return a.node < b.node;
  });
  return welcome;
}

std::string own_address(const NodeOptions& options, std::uint16_t client_port) {
  Endpoint self = options.advertise_client;
  self.port = self.port == 0 ? client_port : self.port;
  return to_string(self);
}

std::string link_text(const ReplicatedLog& engine, const DeviceLinks& links, NodeId peer) {
  const std::string channel = engine.shard_channel(peer);
  return channel.empty() ? links.text(peer) : channel;
}

ledger::SnapshotHeader make_header(const NodeOptions& options, const ReplicatedLog& engine) {
  ledger::SnapshotHeader header{.cluster = options.cluster,
                                .time_ms = wall_ms(),
                                .node = options.node,
                                .shard_count = options.shards,
                                .durable = options.durability == Durability::Durable,
                                .nodes = {{options.node, engine.incarnation()}},
                                .release = std::string(kVersion)};
  for (const NodePeerView& peer : engine.view().peers) {
    header.nodes.push_back({peer.link.id, peer.link.incarnation});
  }
  std::ranges::sort(header.nodes, {}, &ledger::SnapshotNode::node);
  return header;
}

}  // namespace gcoord::server
