// How an engine comes to life: options, storage, rows, network, in this order.
#include "common/random.h"
#include "server/host_turn/host_replicas.h"
#include "server/host_turn/row_workers.h"
#include "server/platform/boot_time.h"
#include "server/platform/system_random.h"
#include "server/replicas/recovery.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

Status option_failure(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message), kEngineOptions};
}

consensus::RowMap row_map_of(const ReplicaOptions& options) {
  return options.slices.empty()
             ? consensus::RowMap(options.shard_count)
             : consensus::RowMap(options.shard_count,
                                 options.slices.data(),
                                 static_cast<std::uint32_t>(options.slices.size()));
}

Status check(const ReplicaOptions& options) {
  const auto slots = static_cast<std::uint32_t>(options.peers.size() + 1);
  const consensus::Timing& timing = options.timing;
  // More rows than memory for them is likely: 16 million take 7 GB.
  if (options.shard_count == 0 || options.shard_count > consensus::kShardsMax) {
    return option_failure("--shards must be 1 to " + std::to_string(consensus::kShardsMax));
  }
  const auto& slices = options.slices;
  const bool ascend =
      std::adjacent_find(slices.begin(), slices.end(), std::greater_equal<>{}) == slices.end();
  if (!ascend || row_map_of(options).row_count() == 0) {
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
  return initial_configuration(options).status();
}

std::uint32_t slot_count(const ReplicaOptions& options) {
  return options.replica_slots != 0 ? options.replica_slots
                                    : static_cast<std::uint32_t>(options.peers.size() + 1);
}

Result<ChosenStepper> open_stepper(const ReplicaOptions& options) {
  const std::uint32_t row_count = row_map_of(options).row_count();
  if (options.make_stepper) {
    GCOORD_TRY(auto stepper, options.make_stepper(row_count, slot_count(options)));
    return ChosenStepper{std::move(stepper), "the caller's own"};
  }
  return choose_stepper({.device = options.device,
                         .fault = options.device_fault,
                         .check_one_in = options.device_check_one_in,
                         .row_count = row_count,
                         .slot_count = slot_count(options)});
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
  GCOORD_TRY(ChosenStepper stepper, open_stepper(options));
  std::unique_ptr<HostReplicas> host(
      new HostReplicas(std::move(options), std::move(stepper), service, metrics));
  GCOORD_TRY_STATUS(host->open_storage(metrics));
  GCOORD_TRY_STATUS(host->open_network(metrics));
  return host;
}

HostReplicas::HostReplicas(ReplicaOptions options,
                           ChosenStepper stepper,
                           StateMachine& service,
                           MetricsRegistry& registry)
    : options_(std::move(options)),
      service_(service),
      metrics_(registry),
      clock_(options_.clock_us, options_.tick_ms),
      rows_(std::move(stepper), row_map_of(options_)),
      outflow_(options_.peers, rows_.log, metrics_),
      sender_(metrics_, options_.timing.election_ticks),
      readmission_(options_.durability, rows_.columns(), registry) {
  if (!rows_.stepper->report().product.empty()) {
    device_metrics_ = std::make_unique<DeviceMetrics>(registry);
  }
}

HostReplicas::~HostReplicas() = default;

HostReplicas::RowWorkers::RowWorkers(HostReplicas& host)
    : look_at_credit([&host] {
        host.peers_->set_credit(*host.network_,
                                [&host](NodeId peer) { return host.outflow_.gathered(peer); });
      }),
      answers({host.rows_, host.service_, host.metrics_, host.turn_, host.options_.node}),
      reports({host.rows_, host.service_, host.metrics_, host.options_, host.turn_}),
      storage({host.rows_,
               host.service_,
               host.metrics_,
               host.turn_,
               *host.disk_,
               *host.checkpointing_}),
      messages(
          {host.rows_, host.service_, host.metrics_, host.outflow_, host.sender_, *host.network_}),
      applies({host.rows_,
               host.service_,
               host.metrics_,
               host.turn_,
               *host.peers_,
               *host.checkpointing_,
               answers}),
      batch({host.rows_,
             answers,
             reports,
             storage,
             messages,
             applies,
             host.readmission_,
             host.failure_}),
      settler({host.rows_, host.metrics_, host.turn_, reports, messages, applies, look_at_credit}),
      snapshots(host.metrics_) {}

Status HostReplicas::open_storage(MetricsRegistry& registry) {
  const consensus::ShardColumns& columns = rows_.columns();
  Recovery recovery({rows_.map, columns, rows_.pool, rows_.log, service_}, options_.node);
  GCOORD_TRY(disk_, ReplicaDisk::open(options_, options_.seed, recovery, registry));
  votes_ = std::make_unique<VoteGate>(
      disk_->identity(), disk_->first_boot(), options_.timing.election_ticks);
  checkpointing_ = std::make_unique<Checkpointing>(
      Checkpointing::Options{
          options_.checkpoint_interval_ms, options_.checkpoint_wal_bytes, rows_.map.holds_all()},
      Checkpointing::Environment{
          columns, rows_.log, rows_.pool, service_, *disk_, rows_.active, metrics_},
      clock_.now_ms());
  GCOORD_TRY_STATUS(recovery.finish([this](std::uint32_t row) { checkpointing_->mark(row); }));
  readmission_.note_all();
  return Status{};
}

// What all nodes must have been started with: names hash to shards, promises are counted in
// election timeouts.
netcore::AgreedSettings HostReplicas::agreed_settings() const {
  return {options_.shard_count,
          options_.tick_ms,
          options_.timing.election_ticks * options_.tick_ms,
          static_cast<std::uint32_t>(options_.peers.size() + 1),
          static_cast<std::uint32_t>(options_.durability)};
}

netcore::PeerNetworkOptions HostReplicas::network_options(MetricsRegistry& registry) {
  netcore::PeerNetworkOptions network;
  network.cluster = options_.cluster;
  network.node = options_.node;
  network.incarnation = incarnation();
  network.directory = netcore::DirectoryId{disk_->identity().directory_id()};
  network.life = mix64(options_.seed ^ incarnation().value);
  network.durable = disk_->durable_lsn().value;
  network.settings = agreed_settings();
  network.listen_host = options_.listen_host;
  network.listen_port = options_.listen_port;
  network.peers = options_.peers;
  network.transport_kind = options_.transport_kind;
  network.transport = std::move(options_.transport);
  network.admit = [this](const netcore::PeerIdentity& peer) { return admission_->admit(peer); };
  network.metrics = &registry;
  return network;
}

ReplicaInflow::ChannelEvents HostReplicas::channel_events() {
  return {.up =
              [this](NodeId peer) {
                static_cast<void>(peer);
                peers_->hurry();
              },
          .down = [this](NodeId peer) { sender_.drop_peer(peer); },
          .refused = [this](const netcore::Refusal& refusal) { on_refused(refusal); }};
}

Status HostReplicas::open_network(MetricsRegistry& registry) {
  peers_ = std::make_unique<ReplicaPeers>(
      options_.peers, incarnation(), options_.timing, options_.durability);
  peers_->register_gauges(registry);
  admission_ = std::make_unique<PeerAdmission>(
      disk_->identity(), options_.peers, agreed_settings(), [this](const Status& status) {
        fail_unless(status);
      });
  claim_ = std::make_unique<DirectoryClaim>(disk_->identity(), options_.rejoin);
  inflow_ = std::make_unique<ReplicaInflow>(ReplicaInflow::Options{options_.node, rows_.map},
                                            rows_.active,
                                            service_,
                                            metrics_,
                                            channel_events());
  GCOORD_TRY(network_, netcore::PeerNetwork::create(network_options(registry)));

  clock_.read();
  votes_->begin(now());
  turn_.tick = now();
  rows_.wake_all();
  turn_.leaderless = rows_.map.row_count();
  const auto before = std::count_if(
      options_.peers.begin(), options_.peers.end(), [this](const netcore::PeerAddress& peer) {
        return peer.id < options_.node;
      });
  rows_.deadlines.begin_at(static_cast<std::size_t>(before), options_.peers.size() + 1);
  workers_ = std::make_unique<RowWorkers>(*this);
  return Status{};
}

}  // namespace gcoord::server
