// Losses of power, one after the other: of one machine or of all, between two operations of a disk.
#include "chaos/world/nemesis.h"
#include "chaos/world/world.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

// A turn that persists takes three or four operations, a checkpoint or a new segment a dozen.
constexpr std::uint32_t kOperationsAheadMax = 60;
// Recovery of a few segments takes some ten.
constexpr std::uint32_t kRecoveryOperationsMax = 16;

std::vector<WorldNode*> nodes_of(World& world) {
  std::vector<WorldNode*> nodes;
  for (std::uint32_t index = 0; index < world.node_count(); ++index) {
    nodes.push_back(&world.node(index));
  }
  return nodes;
}

}  // namespace

bool Nemesis::all_up() {
  return std::ranges::all_of(nodes_of(world_), [](WorldNode* node) { return node->running(); }) &&
         world_.why_unled().empty();
}

// The next one comes when all nodes run, every shard is led, and clients had some time.
void Nemesis::pass_power() {
  if (cut_ != nullptr || !all_up()) {
    return;
  }
  if (next_cut_us_ == 0) {
    const std::string missing = world_.audit().compare_decided(nodes_of(world_));
    if (!missing.empty()) {
      world_.judge().report(missing);
    }
    next_cut_us_ = world_.now_us() + some_ms(1, 6) * 1000;
  } else if (world_.now_us() >= next_cut_us_) {
    plan_cut();
  }
}

void Nemesis::plan_cut() {
  cut_ = std::make_shared<ledger::PowerSupply>();
  cut_of_all_ = random_.below(2) == 0;
  const std::uint32_t chosen = random_.below(world_.node_count());
  for (std::uint32_t index = 0; index < machines_.size(); ++index) {
    if (cut_of_all_ || index == chosen) {
      world_.node(index).disk().set_power(cut_);
    }
  }
  cut_->cut_after(random_.between(1, kOperationsAheadMax));
  next_cut_us_ = 0;
}

// One start in four loses its power again.
void Nemesis::cut_in_recovery(std::uint32_t index) {
  if (cut_ != nullptr || random_.below(4) != 0) {
    return;
  }
  cut_ = std::make_shared<ledger::PowerSupply>();
  cut_of_all_ = false;
  world_.node(index).disk().set_power(cut_);
  cut_->cut_after(random_.between(1, kRecoveryOperationsMax));
}

void Nemesis::count_cut(const ledger::PowerSupply& power) {
  const auto add = [this](std::size_t which) { ++power_[which]; };
  add(static_cast<std::size_t>(cut_of_all_ ? PowerCount::AllNodes : PowerCount::OneNode));
  add(static_cast<std::size_t>(PowerCount::BeforeWrite) + static_cast<std::size_t>(power.struck()));
}

void Nemesis::look_at_power(std::uint32_t index) {
  if (cut_ == nullptr || !cut_->gone() || !world_.node(index).disk().has_lost_power()) {
    return;
  }
  const auto struck = std::exchange(cut_, nullptr);
  count_cut(*struck);
  count(cut_of_all_ ? FaultClass::PowerLossOfAll : FaultClass::TornWrite);
  std::vector<std::uint32_t> victims;
  for (std::uint32_t other = 0; other < machines_.size(); ++other) {
    if (cut_of_all_ || other == index) {
      stop(other, true);
      victims.push_back(other);
    }
  }
  if (cut_of_all_) {
    world_.audit().note_decided();
  }
  for (const std::uint32_t victim : victims) {
    world_.node(victim).disk().set_power(std::make_shared<ledger::PowerSupply>());
    restart_later(victim, some_ms(1, 10));
  }
}

}  // namespace gcoord::chaos
