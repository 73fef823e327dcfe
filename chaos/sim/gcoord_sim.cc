// gcoord-sim: runs seeds of the simulated world and says which of them broke what.
#include "chaos/sim/sim_world.h"
#include "common/json/value.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace {

using gcoord::chaos::SimResult;
using gcoord::chaos::SimWorld;

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;
  std::uint64_t replays_unequal = 0;
  std::uint64_t applied = 0;
  std::uint64_t elections = 0;
  std::uint64_t messages = 0;
  gcoord::chaos::SimCounts counts;
};

void add(Totals& totals, const SimResult& result) {
  ++totals.seeds;
  totals.applied += result.applied;
  totals.elections += result.elections;
  totals.messages += result.messages;
  totals.counts.steps += result.counts.steps;
  totals.counts.proposals += result.counts.proposals;
  totals.counts.reads += result.counts.reads;
  totals.counts.quorum_reads += result.counts.quorum_reads;
  totals.counts.partitions += result.counts.partitions;
  totals.counts.restarts += result.counts.restarts;
  totals.counts.pauses += result.counts.pauses;
  totals.counts.power_losses += result.counts.power_losses;
  totals.counts.majority_restarts += result.counts.majority_restarts;
  totals.counts.transfer_cuts += result.counts.transfer_cuts;
  totals.counts.lost_disks += result.counts.lost_disks;
  totals.counts.old_images += result.counts.old_images;
  totals.counts.reconfigurations += result.counts.reconfigurations;
  totals.counts.transfers += result.counts.transfers;
  totals.counts.targets += result.counts.targets;
  totals.counts.member_changes += result.counts.member_changes;
  totals.counts.member_transfers += result.counts.member_transfers;
  totals.counts.checkpoints += result.counts.checkpoints;
  totals.counts.snapshots += result.counts.snapshots;
  totals.counts.mute_steps += result.counts.mute_steps;
  totals.counts.demotions += result.counts.demotions;
  totals.counts.anchors += result.counts.anchors;
  totals.counts.promotions += result.counts.promotions;
  totals.counts.shards_lost += result.counts.shards_lost;
}

// Members in the order of their names.
gcoord::Json as_json(const Totals& totals) {
  const auto& counts = totals.counts;
  return {{"applied", totals.applied},
          {"checkpoints", counts.checkpoints},
          {"elections", totals.elections},
          {"faults",
           {{"lost_disks", counts.lost_disks},
            {"majority_restarts", counts.majority_restarts},
            {"old_images", counts.old_images},
            {"partitions", counts.partitions},
            {"pauses", counts.pauses},
            {"power_losses", counts.power_losses},
            {"reconfigurations", counts.reconfigurations},
            {"restarts", counts.restarts},
            {"transfer_cuts", counts.transfer_cuts},
            {"transfers", counts.transfers}}},
          {"members",
           {{"changes", counts.member_changes},
            {"targets", counts.targets},
            {"transfers", counts.member_transfers}}},
          {"messages", totals.messages},
          {"mute_steps", counts.mute_steps},
          {"proposals", counts.proposals},
          {"quorum_reads", counts.quorum_reads},
          {"readmissions",
           {{"anchors", counts.anchors},
            {"demotions", counts.demotions},
            {"promotions", counts.promotions},
            {"shards_lost", counts.shards_lost}}},
          {"reads", counts.reads},
          {"replays_unequal", totals.replays_unequal},
          {"seeds", totals.seeds},
          {"snapshots", counts.snapshots},
          {"steps", counts.steps},
          {"violations", totals.violations}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs seeds of a simulated gcoord cluster under faults and checks the invariants of Raft at "
      "every step."};
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  std::uint64_t replay_every = 100;
  bool json = false;
  std::string durability = "durable";
  bool disks_are_lost = false;
  bool members = false;
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
  app.add_option("--replay-every", replay_every, "Run every n-th seed twice and compare (0: never)")
      ->capture_default_str();
  app.add_option("--durability",
                 durability,
                 "Durability: durable, or memory (restarted nodes lose everything)")
      ->check(CLI::IsMember({"durable", "memory"}))
      ->capture_default_str();
  app.add_flag(
      "--lose-disks", disks_are_lost, "In durable mode: lose disks, or replace them by old images");
  app.add_flag("--members", members, "Change the members of the shards, with nodes to spare");
  app.add_flag("--json", json, "Print one JSON object on the last line");
  CLI11_PARSE(app, argc, argv);

  const auto mode = durability == "memory" ? gcoord::consensus::Durability::Memory
                                           : gcoord::consensus::Durability::Durable;
  const auto run = [&](std::uint64_t seed) {
    gcoord::chaos::SimOptions options = gcoord::chaos::options_of_seed(seed, mode);
    if (disks_are_lost) {
      gcoord::chaos::lose_disks(options);
    }
    if (members) {
      gcoord::chaos::change_members(options);
    }
    return SimWorld(options).run();
  };
  Totals totals;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const SimResult result = run(seed);
    add(totals, result);
    if (!result.violation.empty()) {
      ++totals.violations;
      std::printf(
          "seed %llu: %s\n", static_cast<unsigned long long>(seed), result.violation.c_str());
    }
    const bool replay = replay_every != 0 && seed % replay_every == 0;
    if (replay && run(seed).digest != result.digest) {
      ++totals.replays_unequal;
      std::printf("seed %llu: a second run differs\n", static_cast<unsigned long long>(seed));
    }
  }
  if (json) {
    std::printf("%s\n", as_json(totals).dump().c_str());
  } else {
    std::printf("%llu seeds, %llu violations, %llu decisions applied, %llu elections\n",
                static_cast<unsigned long long>(totals.seeds),
                static_cast<unsigned long long>(totals.violations),
                static_cast<unsigned long long>(totals.applied),
                static_cast<unsigned long long>(totals.elections));
  }
  return totals.violations == 0 && totals.replays_unequal == 0 ? 0 : 1;
}
