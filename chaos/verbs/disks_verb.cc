// `chaos disks`: losses of power between two operations of a disk, and bits that flip on disks.
#include "chaos/process/scratch_directory.h"
#include "chaos/verbs/chaos_verb.h"
#include "chaos/world/apart.h"
#include "chaos/world/bit_flips.h"
#include "chaos/world/world_runs.h"
#include "common/json/value.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

namespace gcoord::chaos {
namespace {

// So many flips share one world, whose making costs as much as a hundred of them.
constexpr std::uint64_t kFlipsPerWorld = 1000;
constexpr std::uint64_t kRocksDbFlipsPerWorld = 100;
constexpr unsigned kFlipSecondsMax = 600;

struct Arguments {
  std::uint64_t power_losses = 5000;
  std::uint64_t bit_flips = 100'000;
  std::uint64_t rocksdb_flips = 0;
  std::uint64_t first = 1;
  std::uint32_t jobs = 1;
  std::string mutant = mutant_name(Mutant::None);
  std::string directory;
  bool json = false;
};

std::uint64_t losses(const WorldTotals& totals) {
  return totals.power[static_cast<std::size_t>(PowerCount::OneNode)] +
         totals.power[static_cast<std::size_t>(PowerCount::AllNodes)];
}

WorldTotals lose_power(const Arguments& arguments, Mutant mutant) {
  if (arguments.power_losses == 0) {
    return {};
  }
  WorldPlan plan;
  plan.first = arguments.first;
  plan.seeds = ~std::uint64_t{0} - plan.first;
  plan.jobs = arguments.jobs;
  plan.mutant = mutant;
  plan.stop_at_failure = true;
  plan.make_world = power_world_of_seed;
  plan.enough = [&arguments](const WorldTotals& totals) {
    return losses(totals) >= arguments.power_losses;
  };
  return run_worlds(plan, [](const WorldOptions& options, const WorldResult& result) {
    const auto seed = static_cast<unsigned long long>(options.seed);
    std::printf("power, seed %llu: %s\n  ./gcoord chaos replay %llu --power\n",
                seed,
                result.violation.c_str(),
                seed);
    std::fflush(stdout);
  });
}

// All flips, a world's worth of them at a time, each in a process of its own.
FlipCounts flip(const Arguments& arguments) {
  FlipCounts counts;
  Apart apart(arguments.jobs, kFlipSecondsMax);
  std::uint64_t left = arguments.bit_flips - std::min(arguments.bit_flips, arguments.rocksdb_flips);
  std::uint64_t rocksdb_left = std::min(arguments.bit_flips, arguments.rocksdb_flips);
  std::uint64_t seed = arguments.first;
  while (left > 0 || rocksdb_left > 0 || !apart.idle()) {
    if ((left == 0 && rocksdb_left == 0) || !apart.has_room()) {
      apart.wait();
      continue;
    }
    FlipPlan plan{.seed = seed++,
                  .flips = std::min(left, kFlipsPerWorld),
                  .rocksdb_flips = std::min(rocksdb_left, kRocksDbFlipsPerWorld)};
    left -= plan.flips;
    rocksdb_left -= plan.rocksdb_flips;
    plan.directory = arguments.directory + "/" + std::to_string(plan.seed);
    std::filesystem::create_directories(plan.directory);
    apart.begin([plan] { return to_text(flip_bits(plan)); },
                [&counts, plan](const ApartResult& ended) {
                  FlipCounts some;
                  some.first_wrong = "seed " + std::to_string(plan.seed) + ": " + ended.death;
                  counts.add(ended.death.empty() ? flip_counts_of(ended.text) : some);
                  std::filesystem::remove_all(plan.directory);
                });
  }
  return counts;
}

Json power_json(const WorldTotals& totals) {
  Json json{{"losses", losses(totals)}};
  for (std::size_t k = 0; k < kPowerCountCount; ++k) {
    json[kPowerCountNames[k]] = totals.power[k];
  }
  json["seeds"] = totals.seeds;
  json["acknowledged"] = totals.acknowledged;
  json["lost"] = totals.lost;
  json["violations"] = totals.violations;
  json["undecided"] = totals.undecided;
  json["simulated_hours"] = static_cast<double>(totals.simulated_ms) / 3'600'000.0;
  return json;
}

Json flips_json(const FlipCounts& counts) {
  Json kinds = Json::object();
  for (const auto& [kind, outcomes] : counts.by_kind) {
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      kinds[kind][kFlipOutcomeNames[k]] = outcomes[k];
    }
  }
  Json json;
  for (std::size_t k = 0; k < kFlipOutcomeNames.size(); ++k) {
    json[kFlipOutcomeNames[k]] = counts.total(static_cast<FlipOutcome>(k));
  }
  json["by_kind"] = kinds;
  Json refusals = Json::object();
  for (const auto& [refusal, count] : counts.by_refusal) {
    refusals[refusal] = count;
  }
  json["by_refusal"] = refusals;
  return json;
}

void print_text(const WorldTotals& totals, const FlipCounts& counts) {
  std::printf("%llu losses of power in %llu worlds: %llu operations acknowledged, %llu lost\n",
              static_cast<unsigned long long>(losses(totals)),
              static_cast<unsigned long long>(totals.seeds),
              static_cast<unsigned long long>(totals.acknowledged),
              static_cast<unsigned long long>(totals.lost));
  for (std::size_t k = 0; k < kPowerCountCount; ++k) {
    std::printf(
        "  %-24s %12llu\n", kPowerCountNames[k], static_cast<unsigned long long>(totals.power[k]));
  }
  std::printf("bits flipped in%-17s", "");
  for (const char* name : kFlipOutcomeNames) {
    std::printf(" %10s", name);
  }
  std::printf("\n");
  for (const auto& [kind, outcomes] : counts.by_kind) {
    std::printf("  %-30s", kind.c_str());
    for (const std::uint64_t count : outcomes) {
      std::printf(" %10llu", static_cast<unsigned long long>(count));
    }
    std::printf("\n");
  }
  if (!counts.first_wrong.empty()) {
    std::printf("%s\n", counts.first_wrong.c_str());
  }
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--power-losses", arguments.power_losses, "Number of power losses, of one node or of all")
      ->capture_default_str();
  app.add_option("--bit-flips", arguments.bit_flips, "Number of bits to flip, one at a time")
      ->capture_default_str();
  app.add_option("--rocksdb-flips",
                 arguments.rocksdb_flips,
                 "Number of the flips in files of real RocksDB directories (default: a tenth)");
  app.add_option("--first", arguments.first, "First seed")->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "Number of worlds in parallel (default: cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option(
      "--mutant", arguments.mutant, "Mistake to plant (chaos mutants); the run must find it");
  app.add_option(
      "--directory", arguments.directory, "Directory of RocksDB's files (default: memory)");
  app.add_flag("--json", arguments.json, "Print one JSON object on the last line");
}

std::string default_directory() {
  return std::filesystem::is_directory("/dev/shm")
             ? "/dev/shm"
             : std::filesystem::temp_directory_path().string();
}

int run(Arguments arguments) {
  const auto mutant = find_mutant(arguments.mutant);
  if (!mutant) {
    std::fprintf(stderr, "gcoord chaos disks: no mistake %s\n", arguments.mutant.c_str());
    return 2;
  }
  const auto scratch = ScratchDirectory::make(
      arguments.directory.empty() ? default_directory() : arguments.directory, "gcoord-disks-");
  if (!scratch.ok()) {
    std::fprintf(stderr, "gcoord chaos disks: %s\n", scratch.status().message().c_str());
    return 2;
  }
  arguments.directory = scratch.value().path().string();
  const auto begun = std::chrono::steady_clock::now();
  const WorldTotals totals = lose_power(arguments, *mutant);
  const FlipCounts counts = flip(arguments);
  print_text(totals, counts);
  const bool right = totals.violations == 0 && totals.undecided == 0 && counts.first_wrong.empty();
  if (arguments.json) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    std::printf("%s\n",
                Json{{"violations", right ? 0 : 1},
                     {"power", power_json(totals)},
                     {"flips", flips_json(counts)},
                     {"first_wrong", counts.first_wrong},
                     {"wall_seconds", wall.count()}}
                    .dump()
                    .c_str());
  }
  return right ? 0 : 1;
}

}  // namespace

int run_disks_verb(int argc, char** argv) {
  CLI::App app{
      "cut the power between any two operations of simulated disks, of one node and of all, and "
      "flip bits on disks of stopped nodes; recovery must lose nothing and find the flipped bits",
      "gcoord chaos disks"};
  Arguments arguments;
  arguments.jobs = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.count("--rocksdb-flips") == 0) {
    arguments.rocksdb_flips = arguments.bit_flips / 10;
  }
  return run(std::move(arguments));
}

}  // namespace gcoord::chaos
