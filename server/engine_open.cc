// How an engine comes to life: options, storage, rows, network, in this order.
#include "common/random.h"
#include "server/boot_time.h"
#include "server/engine_admission.h"
#include "server/engine_core.h"
#include "server/recovery.h"
#include "server/system_random.h"

#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// More rows than memory for them is likely: 16 million take 7 GB.
constexpr std::uint32_t kShardsMax = 1u << 24;

Status option_failure(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message), kEngineOptions};
}

Status check(const EngineOptions& options) {
  const auto slots = static_cast<std::uint32_t>(options.peers.size() + 1);
  const consensus::Timing& timing = options.timing;
  if (options.shard_count == 0 || options.shard_count > kShardsMax) {
    return option_failure("--shards must be 1 to " + std::to_string(kShardsMax));
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

std::uint32_t slot_count(const EngineOptions& options) {
  return options.replica_slots != 0 ? options.replica_slots
                                    : static_cast<std::uint32_t>(options.peers.size() + 1);
}

Result<ChosenStepper> open_stepper(const EngineOptions& options) {
  if (options.make_stepper) {
    GCOORD_TRY(auto stepper, options.make_stepper(options.shard_count, slot_count(options)));
    return ChosenStepper{std::move(stepper), "the caller's own"};
  }
  return choose_stepper({.device = options.device,
                         .fault = options.device_fault,
                         .check_one_in = options.device_check_one_in,
                         .row_count = options.shard_count,
                         .slot_count = slot_count(options)});
}

}  // namespace

Result<std::unique_ptr<ReplicaEngine::Core>> ReplicaEngine::Core::open(EngineOptions options,
                                                                       Service& service,
                                                                       MetricsRegistry& registry) {
  GCOORD_TRY_STATUS(check(options));
  if (!options.clock_us) {
    options.clock_us = [] { return boot_time_us(); };
  }
  options.seed = options.seed != 0 ? options.seed : draw_random();
  GCOORD_TRY(ChosenStepper stepper, open_stepper(options));
  std::unique_ptr<Core> core(new Core(std::move(options), std::move(stepper), service, registry));
  GCOORD_TRY_STATUS(core->open_storage(registry));
  GCOORD_TRY_STATUS(core->open_network(registry));
  return core;
}

ReplicaEngine::Core::Core(EngineOptions options,
                          ChosenStepper stepper,
                          Service& service,
                          MetricsRegistry& registry)
    : options_(std::move(options)),
      service_(service),
      metrics_(registry),
      clock_(options_.clock_us, options_.tick_ms),
      stepper_(std::move(stepper.stepper)),
      stepper_why_(std::move(stepper.why)),
      log_(pool_, options_.shard_count),
      rows_(options_.shard_count),
      deadlines_(options_.shard_count),
      outflow_(options_.peers, log_, metrics_),
      sender_(metrics_, options_.timing.election_ticks),
      readmission_(options_.durability, stepper_->columns(), registry),
      in_(stepper_->batch_rows()),
      out_(stepper_->batch_rows()),
      places_(stepper_->batch_rows()) {
  if (!stepper_->report().product.empty()) {
    device_metrics_ = std::make_unique<DeviceMetrics>(registry);
  }
}

Status ReplicaEngine::Core::open_storage(MetricsRegistry& registry) {
  const consensus::ShardColumns& columns = stepper_->columns();
  Recovery recovery(columns, options_.node, pool_, log_, service_);
  GCOORD_TRY(disk_, EngineDisk::open(options_, options_.seed, recovery, registry));
  first_life_ = !disk_->identity().established();
  checkpointing_ = std::make_unique<Checkpointing>(
      Checkpointing::Options{options_.checkpoint_interval_ms, options_.checkpoint_wal_bytes},
      Checkpointing::Parts{columns, log_, pool_, service_, *disk_, rows_, metrics_},
      clock_.now_ms());
  GCOORD_TRY_STATUS(recovery.finish([this](ShardId shard) { checkpointing_->mark(shard); }));
  readmission_.note_all();
  return Status{};
}

// What all nodes must have been started with: names hash to shards, promises are counted in
// election timeouts.
netcore::AgreedSettings ReplicaEngine::Core::agreed_settings() const {
  return {options_.shard_count,
          options_.tick_ms,
          options_.timing.election_ticks * options_.tick_ms,
          static_cast<std::uint32_t>(options_.peers.size() + 1),
          static_cast<std::uint32_t>(options_.durability)};
}

EngineInflow::ChannelEvents ReplicaEngine::Core::channel_events() {
  return {.up =
              [this](NodeId peer) {
                static_cast<void>(peer);
                peers_->hurry();
              },
          .down = [this](NodeId peer) { sender_.drop_peer(peer); },
          .refused = [this](const netcore::Refusal& refusal) { on_refused(refusal); }};
}

Status ReplicaEngine::Core::open_network(MetricsRegistry& registry) {
  peers_ = std::make_unique<EnginePeers>(
      options_.peers, incarnation(), options_.timing, options_.durability);
  peers_->register_gauges(registry);
  admission_ = std::make_unique<EngineAdmission>(
      disk_->identity(), options_.peers, agreed_settings(), [this](const Status& status) {
        fail(status);
      });
  claim_ = std::make_unique<DirectoryClaim>(disk_->identity(), options_.rejoin);
  inflow_ =
      std::make_unique<EngineInflow>(EngineInflow::Options{options_.node, options_.shard_count},
                                     rows_,
                                     service_,
                                     metrics_,
                                     channel_events());
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
  GCOORD_TRY(network_, netcore::PeerNetwork::create(std::move(network)));

  clock_.read();
  // Promises from before the restart bind for one election timeout more. A
  // directory that not every node has admitted yet may stand for one that is lost: it waits.
  vote_after_ = silent_until();
  vote_after_ = admission_->established() ? vote_after_ : kTickVoteNever;
  last_tick_ = now();
  sweep_left_ = options_.shard_count;
  return Status{};
}

}  // namespace gcoord::server
