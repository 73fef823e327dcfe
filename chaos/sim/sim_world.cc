#include "chaos/sim/sim_world.h"

#include "common/assert.h"
#include "common/incarnation.h"
#include "consensus/step/readmission_plan.h"

#include <algorithm>

namespace gcoord::chaos {
namespace {

// Delays of up to two ticks on a good link; bad weather adds loss, repetition and long delays.
netcore::SimulatedLinkOptions weather(SimRandom& random) {
  netcore::SimulatedLinkOptions link{
      .loss_ppm = 0, .duplicate_ppm = 0, .delay_ticks_min = 1, .delay_ticks_max = 4};
  if (random.chance(600'000)) {
    link.loss_ppm = random.below(100'000);
    link.duplicate_ppm = random.below(50'000);
    link.delay_ticks_max = random.between(2, random.chance(200'000) ? 120 : 12);
  }
  return link;
}

consensus::Configuration equal_voters(std::uint32_t node_count) {
  consensus::Configuration configuration;
  for (std::uint32_t slot = 0; slot < node_count; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
    configuration.voters =
        static_cast<consensus::SlotMask>(configuration.voters | consensus::slot_bit(slot));
  }
  return configuration;
}

}  // namespace

SimWorld::SimWorld(const SimOptions& options)
    : options_(options),
      faults_(options.seed, 1),
      load_(options.seed, 2),
      disk_faults_(options.seed, 3),
      leader_faults_(options.seed, 4),
      members_(options.seed, 5),
      network_(mix64(options.seed)),
      checker_(options.shard_count),
      parts_{options_, network_, checker_, counts_},
      disks_(options.node_count, SimDisk(options.shard_count)),
      processes_(options.node_count) {
  GCOORD_ASSERT(options.node_count <= consensus::kReplicaSlots);
  network_.set_defaults(weather(faults_));
  for (std::uint32_t k = 0; k < options.node_count; ++k) {
    for (std::uint32_t shard = 0; shard < options.shard_count; ++shard) {
      disks_[k].format(shard, first_configuration(k));
    }
    boot(k);
  }
}

// What node k's empty disk says of every shard: nothing, if it begins outside of them.
consensus::Configuration SimWorld::first_configuration(std::uint32_t k) const {
  const std::uint32_t voters = options_.node_count - options_.spare_count;
  return k < voters ? equal_voters(voters) : consensus::Configuration{};
}

void SimWorld::boot(std::uint32_t k) {
  Process& process = processes_[k];
  const std::uint32_t drift = faults_.below(2 * options_.drift_ppm + 1);
  const SimNodeOptions node{.id = NodeId{k + 1},
                            .incarnation = incarnation_of(process.generation, ++process.starts),
                            .rejoining = process.rejoining,
                            .boot_quantum = quantum_,
                            .clock_rate_ppm = 1'000'000 - options_.drift_ppm + drift};
  process.node = std::make_unique<SimNode>(parts_, node, disks_[k]);
  process.node->set_target(process.target);
}

void SimWorld::crash(std::uint32_t k) {
  Process& process = processes_[k];
  if (process.node == nullptr) {
    return;
  }
  process.node.reset();
  disks_[k].lose_power(faults_);
  if (faults_.chance(500'000)) {
    network_.forget(NodeId{k + 1});  // Otherwise stale messages of the old life still arrive.
  }
  process.down_until = quantum_ + faults_.between(1, 400);
  process.paused_until = 0;
}

// Whether what node k promised on the shard is kept somewhere: on its disk while it is down.
bool SimWorld::remembers(std::uint32_t k, std::uint32_t shard) const {
  const Process& process = processes_[k];
  const bool durable = options_.durability == consensus::Durability::Durable;
  return process.node != nullptr ? process.node->remembers(shard) : durable && !process.rejoining;
}

// A restart on the way back forgets again; once the node remembers every shard, none does.
void SimWorld::note_rejoined(Process& process) {
  for (std::uint32_t shard = 0; process.rejoining && shard < options_.shard_count; ++shard) {
    if (!process.node->remembers(shard)) {
      return;
    }
  }
  process.rejoining = false;
}

// Node k's disk is gone, and an operator lets it come back with another one.
void SimWorld::replace_disk(std::uint32_t k, const SimDisk& found) {
  crash(k);
  disks_[k] = found;
  processes_[k].rejoining = true;
  ++processes_[k].generation;
}

// A joint change to a random set of voters and learners; slots keep their nodes.
void SimWorld::draw_reconfiguration(std::uint32_t shard, SimNode& leader) {
  const consensus::Configuration& present = leader.columns().configuration[shard];
  if (present.joint()) {
    return;
  }
  consensus::Configuration next = equal_voters(options_.node_count);
  next.voters = static_cast<consensus::SlotMask>(load_.between(1, (1u << options_.node_count) - 1));
  const bool forgets = options_.lives_end();
  if (forgets && consensus::count_slots(next.voters) < 3) {
    next.voters = equal_voters(options_.node_count).voters;  // Fewer would not outlive one.
  }
  next.voters_outgoing = present.voters;
  const auto others = static_cast<consensus::SlotMask>(~next.voters_either());
  const std::uint32_t all = (1u << options_.node_count) - 1;
  next.learners =
      static_cast<consensus::SlotMask>(others & load_.below(1u << options_.node_count) & all);
  next.auto_leave = load_.chance(800'000) ? 1 : 0;
  for (std::uint32_t slot = 0; slot < options_.node_count; ++slot) {
    if (!consensus::has_slot(next.members(), slot)) {
      next.node[slot] = NodeId{};
      next.weight[slot] = 0;
    } else if (forgets && consensus::has_slot(next.learners, slot)) {
      next.weight[slot] = 0;  // A learner for good (readmission_plan.h).
    }
  }
  ++counts_.reconfigurations;
  leader.reconfigure(shard, next);
}

void SimWorld::draw_load() {
  for (std::uint32_t draw = 0; draw < 3; ++draw) {
    const std::uint32_t shard = load_.below(options_.shard_count);
    for (std::uint32_t k = 0; k < options_.node_count; ++k) {
      SimNode* node = processes_[k].node.get();
      if (node == nullptr || !node->leads(shard)) {
        continue;
      }
      for (std::uint32_t n = load_.below(4); n > 0; --n) {
        ++counts_.proposals;
        node->propose(shard, next_value_++);
      }
      if (load_.chance(200'000)) {
        ++counts_.reads;
        node->read(shard);
      }
      if (chaos_ && load_.chance(options_.reconfigure_ppm)) {
        draw_reconfiguration(shard, *node);
      }
      if (chaos_ && load_.chance(options_.transfer_ppm)) {
        ++counts_.transfers;
        node->transfer(shard, NodeId{load_.between(1, options_.node_count)});
      }
    }
    SimNode* any = processes_[load_.below(options_.node_count)].node.get();
    if (any != nullptr && load_.chance(30'000)) {
      any->checkpoint(shard);
    }
  }
}

void SimWorld::judge_leases() {
  std::vector<consensus::scenario::LeaseHolder> holders;
  for (std::uint32_t shard = 0; shard < options_.shard_count && options_.leases_judged; ++shard) {
    holders.clear();
    for (std::uint32_t k = 0; k < options_.node_count; ++k) {
      const Process& process = processes_[k];
      const bool running = process.node != nullptr && process.paused_until <= quantum_;
      if (running && process.node->leads(shard) && process.node->holds_lease(shard, quantum_)) {
        holders.push_back({NodeId{k + 1}, process.node->columns().log[shard].commit});
      }
    }
    checker_.on_leases(shard, holders);
  }
}

void SimWorld::run_quantum() {
  network_.advance_to(Tick{quantum_});
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    Process& process = processes_[k];
    if (process.node == nullptr && process.down_until <= quantum_) {
      boot(k);
    }
    if (process.node != nullptr && process.paused_until <= quantum_) {
      process.node->turn(quantum_);
      note_rejoined(process);
    }
  }
  judge_leases();
  ++quantum_;
}

void SimWorld::heal() {
  chaos_ = false;
  spread_target(1'000'000);
  network_.heal_all();
  network_.set_defaults(
      {.loss_ppm = 0, .duplicate_ppm = 0, .delay_ticks_min = 1, .delay_ticks_max = 3});
  for (Process& process : processes_) {
    process.paused_until = 0;
    process.down_until = std::min(process.down_until, quantum_);
  }
}

bool SimWorld::shard_converged(std::uint32_t shard) const {
  if (options_.lives_end() && !decidable(shard, options_.node_count)) {
    return true;  // Forgotten by too many: that nobody leads it is all there is to ask for.
  }
  const SimNode* leader = nullptr;
  for (const Process& process : processes_) {
    if (process.node != nullptr && process.node->leads(shard)) {
      if (leader != nullptr) {
        return false;
      }
      leader = process.node.get();
    }
  }
  if (leader == nullptr || leader->columns().configuration[shard].joint()) {
    return leader != nullptr && leader->columns().configuration[shard].auto_leave == 0;
  }
  if (consensus::wants_readmission(consensus::ShardRef(leader->columns(), shard))) {
    return !options_.lives_end();
  }
  const consensus::Configuration& configuration = leader->columns().configuration[shard];
  if (target_.count != 0 && !as_wanted(configuration, target_, consensus::kReplicaSlots)) {
    return false;
  }
  for (std::uint32_t k = 0; k < options_.node_count; ++k) {
    const std::uint8_t slot = slot_of(configuration, NodeId{k + 1});
    const bool voter =
        slot != consensus::kSlotNone && consensus::has_slot(configuration.voters, slot);
    const bool behind = processes_[k].node == nullptr || !processes_[k].node->remembers(shard) ||
                        processes_[k].node->state(shard).index < checker_.committed(shard);
    if (voter && behind) {
      return false;
    }
  }
  return true;
}

bool SimWorld::converged() const {
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    if (!shard_converged(shard)) {
      return false;
    }
  }
  return true;
}

SimResult SimWorld::result() const {
  SimResult result;
  result.violation = checker_.violation();
  result.digest = network_.delivery_hash();
  result.applied = checker_.applied_total();
  result.elections = checker_.elections();
  result.messages = network_.counts().sent;
  result.counts = counts_;
  for (const Process& process : processes_) {
    for (std::uint32_t shard = 0; process.node != nullptr && shard < options_.shard_count;
         ++shard) {
      result.digest = mix64(result.digest ^ consensus::row_digest(process.node->columns(), shard));
    }
  }
  return result;
}

SimResult SimWorld::run() {
  const std::uint64_t chaos_quanta = std::uint64_t{options_.chaos_ticks} * kQuantaPerTick;
  while (quantum_ <= chaos_quanta && !checker_.violated()) {
    if (quantum_ % kQuantaPerTick == 0) {
      draw_faults();
      draw_load();
    }
    run_quantum();
  }
  heal();
  const std::uint64_t deadline = quantum_ + std::uint64_t{options_.heal_ticks} * kQuantaPerTick;
  while (quantum_ <= deadline && !checker_.violated() && !converged()) {
    run_quantum();
  }
  if (!checker_.violated() && !converged()) {
    std::uint32_t shard = 0;
    while (shard_converged(shard)) {
      ++shard;
    }
    checker_.report("L1 Liveness", shard, "no convergence after healing");
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    counts_.shards_lost += decidable(shard, options_.node_count) ? 0 : 1;
  }
  return result();
}

}  // namespace gcoord::chaos
