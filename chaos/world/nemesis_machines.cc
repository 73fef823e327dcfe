// What befalls machines: their processes, disks and clocks.
#include "chaos/members/moves_report.h"
#include "chaos/world/nemesis.h"
#include "chaos/world/world.h"
#include "common/assert.h"
#include "common/device/device_errors.h"
#include "server/interfaces/errors.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

// Whether every other node has admitted this life of the node, so that each can tell a directory
// that is not its own. What passes otherwise is in docs/adr/0012.
bool known_to_all(WorldNode& node) {
  const server::NodeView view = node.engine().view();
  return std::ranges::all_of(view.peers, [](const server::NodePeerView& peer) {
    return peer.link.state == netcore::LinkState::Up && peer.live;
  });
}

// Whether the node is a majority of the shard by its own weight, as far as it knows. On a disk that
// is not its own it then elects itself before it has met anybody, which no protocol can help, as
// with a single voter.
bool decides_alone(WorldNode& node, ShardId shard) {
  const consensus::Configuration members = node.engine().view(shard).configuration;
  const std::uint8_t slot = consensus::slot_of(members, node.id());
  return slot != consensus::kSlotNone && consensus::is_quorum(members, consensus::slot_bit(slot));
}

bool decides_anything_alone(WorldNode& node, std::uint32_t shard_count) {
  std::uint32_t shard = 0;
  while (shard < shard_count && !decides_alone(node, ShardId{shard})) {
    ++shard;
  }
  return shard < shard_count;
}

// What a node on a disk that is not its own leads though it needs others for that. Empty: nothing.
std::string led_by_intruder(WorldNode& node, std::uint32_t shard_count) {
  for (std::uint32_t number = 0; number < shard_count; ++number) {
    const ShardId shard{number};
    const bool leads = node.engine().view(shard).role == consensus::Role::Leader;
    if (leads && !decides_alone(node, shard)) {
      return "a node with a disk that is not its own leads: " +
             shard_report(shard, {&node.engine()});
    }
  }
  return {};
}

}  // namespace

bool Nemesis::idle(std::uint32_t index) const {
  return !machines_[index].busy && machines_[index].true_disk == nullptr &&
         world_.node(index).running() && !world_.node(index).paused();
}

// One that runs and that no other fault has in its hands, if there is any.
bool Nemesis::pick_machine(std::uint32_t& index) {
  const std::uint32_t count = world_.node_count();
  const std::uint32_t first = random_.below(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    index = (first + k) % count;
    if (idle(index)) {
      return true;
    }
  }
  return false;
}

void Nemesis::note(std::uint32_t index) {
  if (machines_[index].true_disk == nullptr) {
    world_.audit().note(index, world_.node(index));
  }
}

// The process ends. Without power its disk has forgotten what was not synced, and its clock begins
// anew.
void Nemesis::stop(std::uint32_t index, bool power_lost) {
  WorldNode& node = world_.node(index);
  Machine& machine = machines_[index];
  if (node.running()) {
    note(index);
    const server::NodeView view = node.engine().view();
    tell(index,
         "ends, incarnation " + std::to_string(view.incarnation.value) + ", log to " +
             std::to_string(view.durable_lsn.value) + (power_lost ? ", without power" : ""));
  }
  node.stop();
  machine.of_device.reset();
  machine.forgot = world_.options().durability == consensus::Durability::Memory;
  if (power_lost || node.disk().log.has_lost_power()) {
    node.disk().lose_power(random_.word());
    node.clock().set(world_.now_us(), random_.between(1, 100'000) * std::uint64_t{1000});
    count(FaultClass::ClockJump);
  }
  if (machine.true_disk == nullptr && random_.below(3) == 0) {
    machine.old_disk = node.disk().copy();
    machine.lives_at_old = node.life_count();
  }
}

void Nemesis::start(std::uint32_t index) {
  WorldNode& node = world_.node(index);
  if (node.running() || machines_[index].absent) {
    return;
  }
  const Status started = node.start(world_.now_us());
  if (started.ok()) {
    const server::NodeView view = node.engine().view();
    tell(index,
         "starts, incarnation " + std::to_string(view.incarnation.value) + ", log to " +
             std::to_string(view.durable_lsn.value));
    const bool durable = world_.options().durability == consensus::Durability::Durable;
    if (durable && machines_[index].true_disk == nullptr) {
      const std::string missing = world_.audit().compare(index, node);
      if (!missing.empty()) {
        world_.judge().report(missing);
      }
    }
    return;
  }
  tell(index, "does not start: " + started.message());
  machines_[index].why_down = started.message();
  if (node.disk().log.has_lost_power()) {
    // Power went while it recovered.
    count(FaultClass::TornWrite);
    if (world_.options().cuts_power) {
      count_cut(*cut_);
      ++power_[static_cast<std::size_t>(PowerCount::InRecovery)];
      cut_ = nullptr;
    }
    node.disk().lose_power(random_.word());
  }
  const bool intruder = machines_[index].true_disk != nullptr;
  if (started.detail() == server::kNodeRemoved && !intruder) {
    return on_removed(index);
  }
  if (started.code() == StatusCode::DataLoss && !intruder) {
    // No bit was flipped on this disk: what recovery calls damage is its own doing.
    world_.judge().report("node " + std::to_string(index + 1) +
                          " does not recover from its own disk: " + started.message());
  } else if (!intruder) {
    restart_later(index, some_ms(2, 5));
  }
}

void Nemesis::restart_later(std::uint32_t index, std::uint64_t delay_ms) {
  machines_[index].busy = true;
  after(delay_ms, [this, index] {
    if (machines_[index].true_disk == nullptr) {
      machines_[index].busy = false;
      if (world_.options().cuts_power && !healed_) {
        cut_in_recovery(index);
      }
      start(index);
    }
  });
}

void Nemesis::on_node_failed(std::uint32_t index, const Status& failure) {
  if (cut_ != nullptr && cut_->gone()) {
    return;  // look_at_power() follows.
  }
  Machine& machine = machines_[index];
  machine.why_down = failure.message();
  tell(index, "stopped: " + failure.message());
  const bool intruder = machine.true_disk != nullptr;
  if (intruder) {
    return;  // Refused, as it must be; it stays down until the true disk is back.
  }
  if (is_device_fault(failure.detail())) {
    settle_device(index, failure);
  }
  if (failure.detail() == server::kNodeRemoved) {
    stop(index, false);
    return on_removed(index);
  }
  const bool refused = failure.detail() == server::kDirectoryRefused ||
                       failure.detail() == server::kNodeIdDuplicate ||
                       failure.detail() == server::kSettingsDiffer;
  const bool damaged = failure.code() == StatusCode::DataLoss;
  if (refused || damaged) {
    world_.judge().report("node " + std::to_string(index + 1) +
                          " stopped although nothing is wrong with its disk: " + failure.message());
  }
  const bool torn = world_.node(index).disk().log.has_lost_power();
  if (torn) {
    count(FaultClass::TornWrite);
  }
  stop(index, false);
  if (healed_) {
    world_.node(index).disk().set_full(false);
  }
  restart_later(index, some_ms(2, 15));
}

// What nodes there are in between have no machine yet.
void Nemesis::add_machine(std::uint32_t index) {
  while (machines_.size() <= index) {
    machines_.emplace_back().absent = true;
  }
  machines_[index].absent = false;
  start(index);
}

// A node says that it has left the cluster. Half of them come back once more, and must hear it
// again.
void Nemesis::on_removed(std::uint32_t index) {
  if (!world_.has_left(NodeId{index + 1})) {
    world_.judge().report("node " + std::to_string(index + 1) +
                          " takes itself for removed, and no view says so");
  }
  if (healed_ || random_.below(2) == 0) {
    machines_[index].absent = true;
  } else {
    restart_later(index, some_ms(2, 15));
  }
}

void Nemesis::lose_power_of_all() {
  for (std::uint32_t index = 0; index < machines_.size(); ++index) {
    if (machines_[index].true_disk == nullptr && !machines_[index].busy &&
        !machines_[index].absent) {
      world_.node(index).set_paused(false);
      stop(index, true);
      restart_later(index, some_ms(1, 10));
    }
  }
}

// Memory mode: whether one more node may lose what it promised. A fault of a device that is on its
// way will end its node at any moment.
bool Nemesis::may_forget() {
  return world_.remembers_all() && std::ranges::none_of(machines_, [](const Machine& machine) {
           return machine.of_device.has_value();
         });
}

void Nemesis::strike_machine(FaultClass fault) {
  std::uint32_t index = 0;
  const bool memory = world_.options().durability == consensus::Durability::Memory;
  const bool ends = fault <= FaultClass::PowerLossOfAll || fault == FaultClass::ClockJump;
  if (!pick_machine(index) || (memory && ends && !may_forget())) {
    return;
  }
  if (fault == FaultClass::PowerLossOfAll) {
    count(fault);
    return lose_power_of_all();
  }
  WorldNode& node = world_.node(index);
  switch (fault) {
    case FaultClass::Membership:
      return;  // Counted when a node that forgot votes again.
    case FaultClass::Crash:
    case FaultClass::PowerLoss:
    case FaultClass::ClockJump:
      stop(index, fault != FaultClass::Crash);
      restart_later(index, some_ms(1, 25));
      break;
    case FaultClass::BitFlip:
      return flip_bit(index);
    case FaultClass::ReplacedDisk:
    case FaultClass::OldDisk:
      return bring_disk(index, fault);
    case FaultClass::Snapshot:
      miss_snapshot(index);
      break;
    case FaultClass::ClockDrift: {
      const std::uint32_t bound = world_.options().drift_ppm;
      node.clock().set_rate(world_.now_us(),
                            std::int64_t{random_.below(2 * bound + 1)} - std::int64_t{bound});
      break;
    }
    case FaultClass::PauseNode:
      node.set_paused(true);
      after(some_ms(2, 30), [&node] { node.set_paused(false); });
      break;
    case FaultClass::Transfer: {
      const NodeId to{1 + random_.below(world_.node_count())};
      const std::uint32_t every = random_.between(1, 8);
      for (std::uint32_t shard = 0; shard < world_.options().shard_count; shard += every) {
        node.engine().transfer(ShardId{shard}, to);
      }
      break;
    }
    default:
      return strike_disk(fault, node);
  }
  count(fault);
}

void Nemesis::strike_disk(FaultClass fault, WorldNode& node) {
  const std::uint64_t ms = some_ms(2, 20);
  switch (fault) {
    case FaultClass::TornWrite:
      // Counted when the node finds out.
      return node.disk().log.cut_power_after(random_.between(1, 12));
    case FaultClass::DiskFull:
      node.disk().set_full(true);
      after(ms, [&node] { node.disk().set_full(false); });
      break;
    case FaultClass::WriteFailure:
      node.disk().fail_writes(true);
      after(ms, [&node] { node.disk().fail_writes(false); });
      break;
    case FaultClass::SyncFailure:
      node.disk().log.fail_syncs(true);
      after(ms, [&node] { node.disk().log.fail_syncs(false); });
      break;
    case FaultClass::SlowDisk:
      node.set_disk_delay_ms(some_ms(1, 25));
      after(ms * 2, [&node] { node.set_disk_delay_ms(0); });
      break;
    default:
      GCOORD_ASSERT(false);
  }
  count(fault);
}

// The node's device is to fail it, or to forget. It must stop by itself, and soon: within two
// election timeouts a node has looked at all its rows and called its device many times.
void Nemesis::strike_device(FaultClass fault) {
  std::uint32_t index = 0;
  const bool memory = world_.options().durability == consensus::Durability::Memory;
  if (!pick_machine(index) || (memory && !may_forget())) {
    return;
  }
  using Kind = DeviceFaultPlan::Kind;
  const bool flip = fault == FaultClass::DeviceFlip;
  WorldNode& node = world_.node(index);
  node.inject_device({flip ? Kind::Flip : Kind::Call, random_.between(1, flip ? 4 : 40)});
  machines_[index].busy = true;
  machines_[index].of_device = fault;
  after(some_ms(20, 20), [this, index, fault, life = node.life_count()] {
    if (!healed_ && machines_[index].of_device == fault &&
        world_.node(index).life_count() == life) {
      world_.judge().report("node " + std::to_string(index + 1) + " goes on after a " +
                            fault_class_name(fault));
    }
  });
}

// A node stopped because of its device. Without a fault that was injected, device and host differ.
void Nemesis::settle_device(std::uint32_t index, const Status& failure) {
  const auto fault = std::exchange(machines_[index].of_device, std::nullopt);
  const bool flip = fault == FaultClass::DeviceFlip;
  if (!fault.has_value() || failure.detail() != (flip ? kDeviceDiffers : kDeviceFailed)) {
    world_.judge().report("I19: node " + std::to_string(index + 1) +
                          " stopped because of its device: " + failure.message());
  } else {
    count(*fault);
  }
}

// Rot that is found keeps the node from opening; rot that is not found must be harmless: the node
// must know exactly what it knows without it.
void Nemesis::flip_bit(std::uint32_t index) {
  WorldNode& node = world_.node(index);
  stop(index, random_.below(2) == 0);
  auto rotten = node.disk().copy();
  if (!rotten->flip_bit(random_.word())) {
    return restart_later(index, some_ms(1, 5));
  }
  count(FaultClass::BitFlip);
  auto whole = node.swap_disk(std::move(rotten));
  const bool opened = node.start(world_.now_us()).ok();
  const auto known = opened ? node.recovered() : std::vector<std::string>{};
  node.stop();
  node.swap_disk(std::move(whole));
  if (!opened) {
    // It halts, until somebody brings its disk in order.
    return restart_later(index, some_ms(10, 30));
  }
  start(index);
  if (node.running() && node.recovered() != known) {
    world_.judge().report("a flipped bit was not found, and node " + std::to_string(index + 1) +
                          " recovered something else with it");
  }
}

// A new disk or an old copy, in place of the machine's own.
void Nemesis::bring_disk(std::uint32_t index, FaultClass fault) {
  Machine& machine = machines_[index];
  const bool is_new = fault == FaultClass::ReplacedDisk;
  const bool same_life = machine.lives_at_old == world_.node(index).life_count();
  // With a new disk, whoever joined would have to be let in again.
  const bool may =
      is_new ? index < world_.options().node_count : machine.old_disk != nullptr && !same_life;
  if (!may || !known_to_all(world_.node(index))) {
    return;
  }
  auto disk = is_new ? std::make_unique<WorldDisk>() : std::move(machine.old_disk);
  stop(index, false);
  if (!is_new) {
    machine.old_disk = nullptr;
  }
  intrude(index, fault, std::move(disk));
}

// A node under an id that is not its own any more: it must neither vote nor lead. For a while; then
// the true disk is put back.
void Nemesis::intrude(std::uint32_t index, FaultClass fault, std::unique_ptr<WorldDisk> disk) {
  WorldNode& node = world_.node(index);
  machines_[index].true_disk = node.swap_disk(std::move(disk));
  start(index);
  if (node.running() && decides_anything_alone(node, world_.options().shard_count)) {
    return bring_true_disk(index);
  }
  count(fault);
  after(some_ms(15, 40), [this, index] { bring_true_disk(index); });
}

void Nemesis::bring_true_disk(std::uint32_t index) {
  Machine& machine = machines_[index];
  if (machine.true_disk == nullptr) {
    return;
  }
  WorldNode& intruder = world_.node(index);
  intruder.stop();
  intruder.swap_disk(std::move(machine.true_disk));
  machine.true_disk = nullptr;
  start(index);
}

// Long enough away that the others compact what it misses.
void Nemesis::miss_snapshot(std::uint32_t index) {
  stop(index, false);
  const std::uint64_t away_ms = some_ms(40, 60);
  restart_later(index, away_ms);
  for (const std::uint64_t part : {1u, 2u, 3u}) {
    after(away_ms * part / 4, [this] {
      for (std::uint32_t other = 0; other < machines_.size(); ++other) {
        if (world_.node(other).running()) {
          world_.node(other).engine().request_checkpoint();
        }
      }
    });
  }
}

// Memory mode: a node that forgot was demoted and promoted again in every shard.
void Nemesis::watch_memory() {
  for (std::uint32_t index = 0; index < machines_.size(); ++index) {
    Machine& machine = machines_[index];
    if (machine.forgot && world_.node(index).running()) {
      const server::NodeView view = world_.node(index).engine().view();
      if (view.voting_count == world_.options().shard_count && view.forgotten_count == 0) {
        machine.forgot = false;
        count(FaultClass::Membership);
      }
    }
    if (machine.true_disk == nullptr || !world_.node(index).running()) {
      continue;
    }
    const std::string led = led_by_intruder(world_.node(index), world_.options().shard_count);
    if (!led.empty()) {
      world_.judge().report(led);
    } else if (decides_anything_alone(world_.node(index), world_.options().shard_count)) {
      // What is decided in its log is applied only after it has started.
      bring_true_disk(index);
    }
  }
}

}  // namespace gcoord::chaos
