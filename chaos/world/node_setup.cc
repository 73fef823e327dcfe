// What a node of a world is made of: the options of its services and of its engine, its steppers,
// and the mistakes that are planted in them.
#include "chaos/mutants/mutant_stepper.h"
#include "chaos/world/witness_stepper.h"
#include "chaos/world/world_node.h"
#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/device/stepper_cuda.h"
#include "netcore/transport/transport_simulated.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

constexpr ClusterId kCluster{7};
// Small, so that logs roll and drop within a run.
constexpr std::uint64_t kSegmentBytes = 64 * 1024;
// Names the draw of a life's turn threads.
constexpr std::uint64_t kThreadsDraw = 0x7478;

// Of the view that the disk has, or the fixed list.
std::vector<NodeId> nodes_known(const WorldOptions& options, const server::ClusterMembers& kept) {
  std::vector<NodeId> nodes = server::nodes_of(kept.view);
  for (std::uint32_t node = 1; kept.view.epoch == 0 && node <= options.node_count; ++node) {
    nodes.push_back(NodeId{node});
  }
  return nodes;
}

membership::ViewSettings settings_of(const WorldOptions& options) {
  return {.shards = options.shard_count,
          .tick_ms = options.tick_ms,
          .election_ms = static_cast<std::uint32_t>(options.election_ms()),
          .heartbeat_ms = options.tick_ms * options.heartbeat_ticks};
}

}  // namespace

server::LockServiceOptions WorldNode::service_options() const {
  server::LockServiceOptions result;
  result.node = id_;
  result.nodes = nodes_known(options_, disk_->kept_members());
  result.coordinator = options_.coordinator;
  result.tick_ms = options_.tick_ms;
  result.election_ticks = options_.election_ticks;
  result.limits = {options_.shard_count, options_.tick_ms * 2, protocol::kTtlMsMax};
  result.caps = {4096, 4096, 4096, 16384};
  result.index_seed = random64(options_.seed, id_.value, life_count_);
  result.wall_ms = [this] { return clock_.at(now_us_) / 1000; };
  return result;
}

locks::LockOptions WorldNode::lock_options() const {
  const server::LockServiceOptions service = service_options();
  locks::LockOptions result;
  result.shard_count = options_.shard_count;
  result.limits = service.caps;
  result.clock.tick_ms = service.tick_ms;
  result.index_seed = service.index_seed;
  return result;
}

std::uint32_t WorldNode::turn_threads() const {
  if (options_.device.names_device()) {
    return 1;
  }
  return options_.turn_threads != 0
             ? options_.turn_threads
             : 1 + static_cast<std::uint32_t>(
                       random64(options_.seed, kThreadsDraw + id_.value, life_count_) % 4);
}

server::ReplicaOptions WorldNode::engine_options() {
  server::ReplicaOptions result;
  result.cluster = kCluster;
  result.node = id_;
  result.shard_count = options_.shard_count;
  const server::ClusterMembers kept = disk_->kept_members();
  for (const NodeId node : nodes_known(options_, kept)) {
    if (node != id_) {
      result.peers.push_back({node, "simulated", static_cast<std::uint16_t>(node.value)});
    }
  }
  for (const protocol::Member& member : kept.view.nodes) {
    if (member.state == protocol::MemberState::Removed && member.id != id_) {
      result.removed.push_back(member.id);
    }
  }
  result.members_epoch = kept.view.epoch;
  result.joins = id_.value > options_.node_count && options_.mutant != Mutant::JoinerVotesEarly;
  result.transport = netcore::make_simulated_transport(
      environment_.network, id_, life_count_, netcore::SimulatedTime::OfDriver);
  result.identity_disk = &disk_->identity;
  result.wal_disk = &disk_->log;
  result.open_checkpoint_store = [this] {
    if (!disk_->rocksdb_directory.empty()) {
      return ledger::CheckpointStore::open(disk_->rocksdb_directory);
    }
    return Result<std::unique_ptr<ledger::CheckpointStore>>{
        ledger::open_memory_checkpoint_store(disk_->checkpoints)};
  };
  result.storage_driver = ledger::StorageDriver::Owner;
  result.wal_segment_bytes = kSegmentBytes;
  result.durability = options_.durability;
  result.tick_ms = options_.tick_ms;
  result.timing.election_ticks = options_.election_ticks;
  result.timing.resend_ticks = options_.heartbeat_ticks;
  result.timing.stagger_ticks = 2;
  result.timing.lease_margin_ticks = std::max(1u, options_.election_ticks / 10);
  result.checkpoint_interval_ms = options_.election_ms() * 4;
  result.seed = random64(options_.seed, id_.value, life_count_) | 1u;
  result.turn_threads = turn_threads();
  result.lanes_by_turns = true;
  result.clock_us = [this] { return clock_.at(now_us_); };
  result.make_stepper = [this](std::uint32_t rows, std::uint32_t slots) {
    return make_stepper(rows, slots);
  };
  result.trace = [this](const server::ShardTransition& t) { environment_.trace(t, life_count_); };
  return result;
}

Result<std::unique_ptr<consensus::Stepper>> WorldNode::make_stepper(std::uint32_t rows,
                                                                    std::uint32_t slots) {
  std::unique_ptr<consensus::Stepper> stepper;
  if (options_.device.names_device()) {
    GCOORD_TRY(stepper, make_device_stepper(rows, slots));
  } else {
    stepper = consensus::make_cpu_stepper(rows, slots);
  }
  if (of_stepper(options_.mutant)) {
    stepper = make_mutant_stepper(options_.mutant, lane_++, std::move(stepper));
  }
  return std::unique_ptr<consensus::Stepper>{std::make_unique<WitnessStepper>(
      std::move(stepper),
      options_.steps_only ? WitnessStepper::Settling::Never : WitnessStepper::Settling::AsInner,
      WitnessStepper::Witness{.on_message =
                                  [this](const consensus::Message& message) {
                                    environment_.on_message(message, life_count_);
                                  },
                              .on_step =
                                  [this](const consensus::ShardRef& row,
                                         const consensus::Inbox& in,
                                         const consensus::Outbox& out) {
                                    environment_.on_step({id_, row, in, out});
                                  }})};
}

// Every step is done again: the device has to be what the CPU is under every fault.
Result<std::unique_ptr<consensus::Stepper>> WorldNode::make_device_stepper(std::uint32_t rows,
                                                                           std::uint32_t slots) {
  std::unique_ptr<consensus::StepDevice> device;
  if (options_.device.kind == server::DeviceChoice::Kind::Twin) {
    device = std::make_unique<consensus::StandInDevice>();
  } else {
    GCOORD_TRY(device,
               consensus::open_cuda_device({.device = static_cast<int>(options_.device.index),
                                            .row_count = rows,
                                            .slot_count = slots}));
  }
  device_ = device.get();
  return consensus::make_device_stepper(
      std::move(device), {.row_count = rows, .slot_count = slots, .check_one_in = 1});
}

void WorldNode::plant_mistakes(Life& life, server::ReplicaOptions& engine) {
  const Mutant mutant = options_.mutant;
  if (mutant == Mutant::IdentityNotSynced) {
    life.mutant_identity = make_mutant_disk(mutant, disk_->identity);
    engine.identity_disk = life.mutant_identity.get();
  } else {
    life.mutant_log = make_mutant_disk(mutant, disk_->log);
    engine.wal_disk = life.mutant_log.get();
  }
  engine.open_checkpoint_store = [this, mutant] {
    return Result<std::unique_ptr<ledger::CheckpointStore>>{
        make_mutant_store(mutant, ledger::open_memory_checkpoint_store(disk_->checkpoints))};
  };
}

// What the engine calls. A mistake is the lock service's, but where it is one of history.
server::StateMachine& WorldNode::open_services(Life& life, server::ReplicaOptions& engine) {
  const Mutant mutant = options_.mutant;
  if (mutant != Mutant::None) {
    plant_mistakes(life, engine);
  }
  server::StateMachine* inner = &life.service;
  if (mutant != Mutant::None && mutant != Mutant::HistoryRewritten) {
    life.mutant_service =
        std::make_unique<MutantStateMachine>(mutant, MutantNode{id_, turn_threads()}, *inner);
    inner = life.mutant_service.get();
  }
  server::NodeHistoryOptions options;
  options.shard_count = options_.shard_count;
  options.durable = options_.durability == consensus::Durability::Durable;
  options.driver = ledger::StorageDriver::Owner;
  life.history = std::make_unique<server::NodeHistory>(std::move(options), *inner);
  engine.on_directory = [this, history = life.history.get()] {
    return history->open(ledger::open_memory_history_store(disk_->history));
  };
  engine.before_checkpoint = [history = life.history.get()] { return history->settle(); };
  if (mutant == Mutant::HistoryRewritten) {
    life.mutant_service =
        std::make_unique<MutantStateMachine>(mutant, MutantNode{id_}, life.history->service());
    return *life.mutant_service;
  }
  if (!options_.changes_members()) {
    return life.history->service();
  }
  life.views = std::make_unique<MemberViews>(
      MemberViews::Options{id_,
                           options_.node_count,
                           settings_of(options_),
                           mutant,
                           random64(options_.seed, id_.value, 77)},
      life.history->service(),
      [this](const SeenView& seen) { environment_.on_view(id_, seen); });
  return life.views->machine();
}

}  // namespace gcoord::chaos
