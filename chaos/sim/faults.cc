// What a simulated world does to its nodes: crashes, lost disks, partitions, leaders that hear
// nobody, and other members. No crash takes the last that a shard remembers itself by, unless it
// may.
#include "chaos/sim/sim_world.h"

#include <algorithm>

namespace gcoord::chaos {

void SimWorld::draw_disk_faults() {
  const std::uint32_t victim = disk_faults_.below(options_.node_count);
  Process& process = processes_[victim];
  if (!process.image || disk_faults_.chance(50'000)) {
    process.image = disks_[victim];
    process.image->lose_power(disk_faults_);
  }
  const bool lost = disk_faults_.chance(options_.lost_disk_ppm);
  const bool old = !lost && disk_faults_.chance(options_.old_image_ppm);
  const bool possible = process.generation < kGenerationMax && (lost || old);
  if (!possible || !may_crash(victim)) {
    return;
  }
  SimDisk found = *process.image;
  if (lost) {
    found = SimDisk(options_.shard_count);
    for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
      found.format(shard, first_configuration(victim));
    }
  }
  counts_.lost_disks += lost ? 1 : 0;
  counts_.old_images += old ? 1 : 0;
  replace_disk(victim, found);
}

// The nodes that remember the shard, `without` apart: bit k is node k + 1.
consensus::SlotMask SimWorld::rememberers(std::uint32_t shard, std::uint32_t without) const {
  consensus::SlotMask mask = 0;
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    if (k != without && remembers(k, shard)) {
      mask = static_cast<consensus::SlotMask>(mask | consensus::slot_bit(k));
    }
  }
  return mask;
}

// Whether those who would remember the shard without a node can still decide, by the newest
// configuration that any of them knows.
bool SimWorld::decidable(std::uint32_t shard, std::uint32_t without) const {
  const consensus::SlotMask left = rememberers(shard, without);
  const SimNode* newest = nullptr;
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    const bool newer =
        consensus::has_slot(left, k) && processes_[k].node != nullptr &&
        (newest == nullptr || processes_[k].node->state(shard).index > newest->state(shard).index);
    newest = newer ? processes_[k].node.get() : newest;
  }
  if (newest == nullptr) {
    return false;
  }
  const consensus::Configuration& configuration = newest->columns().configuration[shard];
  consensus::SlotMask slots = 0;
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    const std::uint8_t slot = slot_of(configuration, NodeId{k + 1});
    if (consensus::has_slot(left, k) && slot != consensus::kSlotNone) {
      slots = static_cast<consensus::SlotMask>(slots | consensus::slot_bit(slot));
    }
  }
  return is_quorum(configuration, slots);
}

// Whether node k may forget.
bool SimWorld::may_crash(std::uint32_t k) {
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    if (!decidable(shard, k)) {
      return faults_.chance(options_.fatal_crash_ppm);
    }
  }
  return true;
}

void SimWorld::draw_partition() {
  ++counts_.partitions;
  const std::uint32_t kind = faults_.below(3);
  const std::uint32_t side = faults_.below(1u << options_.node_count);
  const std::uint32_t one = faults_.below(options_.node_count);
  const std::uint32_t other = faults_.below(options_.node_count);
  if (kind == 0) {  // One direction of one link.
    network_.cut(NodeId{one + 1}, NodeId{other + 1});
    return;
  }
  for (std::uint32_t from = 0; from < options_.node_count; ++from) {
    for (std::uint32_t to = 0; to < options_.node_count; ++to) {
      const bool across = (side >> from & 1u) != (side >> to & 1u);
      const bool pair = (from == one && to == other) || (from == other && to == one);
      if (kind == 1 ? across : pair) {  // Two camps, or one pair that only a third node can reach.
        network_.cut(NodeId{from + 1}, NodeId{to + 1});
      }
    }
  }
}

// The node that leads most and runs, or none.
SimWorld::Process* SimWorld::busiest_leader() {
  Process* busiest = nullptr;
  std::uint32_t most = 0;
  for (Process& process : processes_) {
    std::uint32_t led = 0;
    for (std::uint32_t shard = 0; process.node != nullptr && shard < options_.shard_count;
         ++shard) {
      led += process.node->leads(shard) ? 1u : 0u;
    }
    busiest = led > most && process.paused_until <= quantum_ ? &process : busiest;
    most = std::max(most, led);
  }
  return busiest;
}

// A leader hears nobody any more. Either it was handing over what it leads, and its orders still
// leave; or nothing does, and all others restart.
void SimWorld::cut_leader() {
  Process* leader = busiest_leader();
  const bool restarts = leader_faults_.chance(500'000);
  if (leader == nullptr || (restarts && options_.lives_end())) {
    return;
  }
  const NodeId self{static_cast<std::uint32_t>(leader - processes_.data()) + 1};
  const NodeId heir{
      (self.value + leader_faults_.below(options_.node_count - 1)) % options_.node_count + 1};
  for (std::uint32_t shard = 0; !restarts && shard < options_.shard_count; ++shard) {
    leader->node->transfer(shard, heir);
  }
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    if (&processes_[k] == leader) {
      continue;
    }
    network_.cut(NodeId{k + 1}, self);
    if (restarts) {
      network_.cut(self, NodeId{k + 1});
      crash(k);
      processes_[k].down_until = quantum_ + leader_faults_.between(1, 20);
    }
  }
  counts_.majority_restarts += restarts ? 1 : 0;
  counts_.transfer_cuts += restarts ? 0 : 1;
}

void SimWorld::draw_faults() {
  if (leader_faults_.chance(options_.leader_cut_ppm)) {
    cut_leader();
  }
  if (faults_.chance(options_.partition_ppm)) {
    draw_partition();
  }
  if (options_.members_ppm != 0) {
    if (members_.chance(options_.members_ppm)) {
      draw_target();
    }
    spread_target(100'000);
  }
  if (faults_.chance(options_.heal_ppm)) {
    network_.heal_all();
  }
  const std::uint32_t victim = faults_.below(options_.node_count);
  const bool memory = options_.durability == consensus::Durability::Memory;
  if (faults_.chance(options_.restart_ppm) && (!memory || may_crash(victim))) {
    ++counts_.restarts;
    crash(victim);
  }
  if (faults_.chance(options_.pause_ppm)) {
    ++counts_.pauses;
    processes_[victim].paused_until = quantum_ + faults_.between(10, 600);
  }
  if (!memory && options_.lives_end()) {
    draw_disk_faults();
  }
  if (!memory && faults_.chance(options_.power_loss_ppm)) {
    ++counts_.power_losses;
    for (std::uint32_t k = 0; k < options_.node_count; ++k) {
      crash(k);
    }
  }
}

// The cluster wants other members: any voters, some of which drain, and any learners. Where nodes
// forget at least three of them vote; fewer would not outlive one.
void SimWorld::draw_target() {
  const std::uint32_t least = options_.lives_end() ? 3 : 1;
  const std::uint32_t most = std::min(7u, options_.node_count);
  consensus::MembersTarget target;
  std::uint32_t voters = members_.between(least, most);
  // Those that can lead are a majority by themselves (server/members/change_rules.h).
  voters = options_.witness.value != 0 ? std::max(voters, 3u) : voters;
  const std::uint32_t first = members_.below(options_.node_count);
  for (std::uint32_t n = 0; n < options_.node_count; ++n) {
    const NodeId node{(first + n) % options_.node_count + 1};
    const std::uint32_t left = options_.node_count - n;
    if (members_.below(left) < voters) {
      const bool drains = voters > 1 && members_.chance(200'000);
      const auto leads = drains ? std::uint8_t{0} : consensus::kTargetLeads;
      const std::uint32_t weight = members_.chance(100'000) ? 2 : 1;
      const bool witness = options_.is_witness(node);
      const std::uint8_t does =
          witness ? consensus::kTargetWitness
                  : static_cast<std::uint8_t>(leads | consensus::kTargetLeadsAtNeed);
      add_target(target,
                 {.node = node,
                  .weight = static_cast<std::uint8_t>(witness ? 1 : weight),
                  .flags = static_cast<std::uint8_t>(consensus::kTargetVoter | does)});
      --voters;
    } else if (members_.chance(300'000)) {
      add_target(target, {.node = node, .weight = 0, .flags = consensus::kTargetJoining});
    }
  }
  ++counts_.targets;
  ++target_number_;
  target_ = target;
}

// Nodes hear of the newest members, each with this chance.
void SimWorld::spread_target(std::uint32_t ppm) {
  for (Process& process : processes_) {
    if (process.target_number != target_number_ && members_.chance(ppm)) {
      process.target = target_;
      process.target_number = target_number_;
      if (process.node != nullptr) {
        process.node->set_target(target_);
      }
    }
  }
}

}  // namespace gcoord::chaos
