// How an engine comes to life: options, storage, rows, network, in this order.
#include "common/random.h"
#include "protocol/members/cluster_view.h"
#include "server/host_turn/host_replicas.h"
#include "server/host_turn/lane_maps.h"
#include "server/platform/boot_time.h"
#include "server/platform/system_random.h"
#include "server/replicas/recoveries.h"
#include "server/replicas/recovery.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

netcore::AgreedSettings agreed_settings(const ReplicaOptions& options, const ReplicaDisk& disk) {
  const std::uint32_t founders = consensus::count_slots(disk.founders().voters);
  const auto now = static_cast<std::uint32_t>(options.peers.size() + 1);
  return {options.shard_count,
          options.tick_ms,
          options.timing.election_ticks * options.tick_ms,
          founders != 0 ? founders : now,
          static_cast<std::uint32_t>(options.durability)};
}

Status option_failure(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message), kEngineOptions};
}

// The fixed list becomes the voters of every shard; of a view's nodes the shards have what they
// have.
Status check_nodes(const ReplicaOptions& options) {
  if (options.members_epoch == 0 && !options.joins) {
    return initial_configuration(options).status();
  }
  const bool fits = options.peers.size() < protocol::kViewNodesMax;
  return fits ? Status{} : option_failure("the nodes of a cluster are 64 at most");
}

Status check(const ReplicaOptions& options) {
  const auto slots =
      std::min(static_cast<std::uint32_t>(options.peers.size() + 1), consensus::kReplicaSlots);
  const consensus::Timing& timing = options.timing;
  // More rows than memory for them is likely: 16 million take 7 GB.
  if (options.shard_count == 0 || options.shard_count > consensus::kShardsMax) {
    return option_failure("--shards must be 1 to " + std::to_string(consensus::kShardsMax));
  }
  const auto& slices = options.slices;
  const bool ascend =
      std::adjacent_find(slices.begin(), slices.end(), std::greater_equal<>{}) == slices.end();
  if (!ascend || LaneMaps(options).count() == 0) {
    return option_failure("the slices must ascend and hold a shard");
  }
  if (options.cluster == ClusterId{0} || options.node == NodeId{0}) {
    return option_failure("the cluster id and the node id must not be 0");
  }
  if (options.tick_ms == 0 || timing.resend_ticks == 0 ||
      timing.election_ticks < 2 * timing.resend_ticks ||
      timing.election_ticks <= 2 * timing.lease_margin_ticks) {
    return option_failure(
        "--election-ms must be at least twice --heartbeat-ms and both at least one tick");
  }
  if (options.replica_slots != 0 &&
      (options.replica_slots < slots || options.replica_slots > consensus::kReplicaSlots)) {
    return option_failure("the replica slots must be at least the number of nodes and at most 8");
  }
  if ((options.identity_disk == nullptr) != (options.wal_disk == nullptr)) {
    return option_failure("give both disks or neither");
  }
  return check_nodes(options);
}

// Rows that lie on a device are stepped there together, whatever was asked for. Where nobody named
// one, what is found now decides; returns why, if that is a processor.
Result<std::string> decide_place(ReplicaOptions& options) {
  if (options.make_stepper || options.turn_threads <= 1 ||
      options.device.kind == DeviceChoice::Kind::Cpu) {
    return std::string{};
  }
  if (options.device.kind == DeviceChoice::Kind::Auto) {
    GCOORD_TRY(ChosenStepper found,
               choose_stepper({.device = options.device, .row_count = 1, .slot_count = 1}));
    if (found.stepper->report().product.empty()) {
      options.device = DeviceChoice{};
      return std::move(found.why);
    }
  }
  options.turn_threads = 1;
  return std::string{};
}

}  // namespace

Result<std::unique_ptr<HostReplicas>> HostReplicas::open(ReplicaOptions options,
                                                         StateMachine& service,
                                                         MetricsRegistry& metrics) {
  GCOORD_TRY_STATUS(check(options));
  if (!options.clock_us) {
    options.clock_us = [] { return boot_time_us(); };
  }
  options.seed = options.seed != 0 ? options.seed : draw_random();
  GCOORD_TRY(std::string why, decide_place(options));
  std::unique_ptr<HostReplicas> host(new HostReplicas(std::move(options), service, metrics));
  GCOORD_TRY(
      host->lanes_,
      TurnLanes::open({host->options_, host->service_, host->clock_, metrics, host->metrics_}));
  if (!why.empty()) {
    host->lanes_->all().front()->rows.stepper_why = std::move(why);
  }
  GCOORD_TRY_STATUS(host->open_storage(metrics));
  GCOORD_TRY_STATUS(host->open_network(metrics));
  return host;
}

HostReplicas::HostReplicas(ReplicaOptions options, StateMachine& service, MetricsRegistry& registry)
    : options_(std::move(options)),
      service_(service),
      metrics_(registry),
      clock_(options_.clock_us, options_.tick_ms),
      sender_(metrics_, options_.timing.election_ticks),
      snapshots_(metrics_),
      members_(options_.node, options_.peers, options_.members_epoch) {}

HostReplicas::~HostReplicas() = default;

Status HostReplicas::open_storage(MetricsRegistry& registry) {
  std::vector<std::unique_ptr<Recovery>> recoveries;
  std::vector<Recovery*> all;
  std::vector<Checkpointing::Part> parts;
  std::uint32_t row_count = 0;
  for (const auto& lane : lanes_->all()) {
    ReplicaRows& rows = lane->rows;
    const auto grow = [&rows](std::uint32_t slots) { return rows.stepper->grow(slots); };
    recoveries.push_back(std::make_unique<Recovery>(
        Recovery::Environment{rows.map, rows.columns(), rows.pool, rows.log, service_, grow},
        options_.node));
    all.push_back(recoveries.back().get());
    parts.push_back({rows.columns(), rows.log, rows.pool, rows.active});
    row_count += rows.map.row_count();
  }
  Recoveries dealt(std::move(all), lanes_->deal());
  GCOORD_TRY(disk_, ReplicaDisk::open(options_, options_.seed, dealt, registry));
  votes_ = std::make_unique<VoteGate>(
      disk_->identity(),
      VoteGate::Past{.first_boot = disk_->first_boot(), .first_life = disk_->first_life()},
      options_.timing.election_ticks);
  checkpointing_ = std::make_unique<Checkpointing>(
      Checkpointing::Options{options_.checkpoint_interval_ms,
                             options_.checkpoint_wal_bytes,
                             row_count == options_.shard_count},
      Checkpointing::Environment{std::move(parts), service_, *disk_, metrics_},
      clock_.now_ms());
  for (std::size_t k = 0; k < recoveries.size(); ++k) {
    CheckpointMarks& marks = checkpointing_->marks(k);
    GCOORD_TRY_STATUS(recoveries[k]->finish([&marks](std::uint32_t row) { marks.mark(row); }));
    lanes_->all()[k]->readmission.note_all();
  }
  return Status{};
}

// What all nodes must have been started with: names hash to shards, promises are counted in
// election timeouts. The number of nodes is the one that the cluster was founded with, whatever
// came since: nodes that know of no view yet compare it. Who joined meets only such ones that do.
netcore::PeerNetworkOptions HostReplicas::network_options(MetricsRegistry& registry) {
  netcore::PeerNetworkOptions network;
  network.cluster = options_.cluster;
  network.former = options_.former_cluster;
  network.node = options_.node;
  network.incarnation = incarnation();
  network.directory = netcore::DirectoryId{disk_->identity().directory_id()};
  network.life = mix64(options_.seed ^ incarnation().value);
  network.durable = disk_->durable_lsn().value;
  network.settings = agreed_settings(options_, *disk_);
  network.listen_host = options_.listen_host;
  network.listen_port = options_.listen_port;
  network.peers = options_.peers;
  network.removed = options_.removed;
  network.transport_kind = options_.transport_kind;
  network.transport = std::move(options_.transport);
  network.proof = std::move(options_.proof);
  network.tls = options_.peer_tls;
  network.admit = [this](const netcore::PeerIdentity& peer) { return admission_->admit(peer); };
  network.metrics = &registry;
  return network;
}

ReplicaInflow::ChannelEvents HostReplicas::channel_events() {
  return {.up = [this](NodeId) { peers_->hurry(); },
          .down = [this](NodeId peer) { sender_.drop_peer(peer); },
          .refused = [this](NodeId peer,
                            const netcore::Refusal& refusal) { on_refused(peer, refusal); }};
}

Status HostReplicas::open_network(MetricsRegistry& registry) {
  peers_ = std::make_unique<ReplicaPeers>(
      options_.peers, incarnation(), options_.timing, options_.durability);
  peers_->register_gauges(registry);
  admission_ =
      std::make_unique<PeerAdmission>(disk_->identity(),
                                      options_.peers,
                                      agreed_settings(options_, *disk_),
                                      [this](const Status& status) { fail_unless(status); });
  for (const NodeId founder : disk_->founders().node) {
    admission_->note_founder(founder);
  }
  if (options_.members_epoch != 0) {
    admission_->follow_view();
  }
  claim_ = std::make_unique<DirectoryClaim>(disk_->identity(), options_.rejoin);
  std::vector<NodeId> others;
  std::ranges::transform(options_.peers, std::back_inserter(others), &netcore::PeerAddress::id);
  claim_->set_voters(std::move(others));
  std::vector<ReplicaInflow::Lane> inlets;
  for (const auto& lane : lanes_->all()) {
    inlets.push_back({lane->rows.map, lane->rows.active, lane->arrivals});
  }
  inflow_ = std::make_unique<ReplicaInflow>(
      ReplicaInflow::Environment{
          options_.node, std::move(inlets), lanes_->deal(), service_, metrics_, options_.votes},
      channel_events());
  GCOORD_TRY(network_, netcore::PeerNetwork::create(network_options(registry)));

  clock_.read();
  votes_->begin(now());
  turn_.tick = now();
  lanes_->connect({*checkpointing_, *peers_, sender_, *network_});
  const auto before = std::count_if(
      options_.peers.begin(), options_.peers.end(), [this](const netcore::PeerAddress& peer) {
        return peer.id < options_.node;
      });
  lanes_->begin_at(static_cast<std::size_t>(before), options_.peers.size() + 1);
  return Status{};
}

}  // namespace gcoord::server
