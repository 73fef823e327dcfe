// `chaos mutants`: plants one classic mistake after another and says which seed found it.
#include "chaos/sim/members_hunt.h"
#include "chaos/verbs/chaos_verb.h"
#include "chaos/world/world_runs.h"
#include "common/json/value.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

struct Found {
  std::uint64_t seed = 0;  // 0: none did.
  std::string what;
};

// Worlds have no verbs that change members; the simulator of the step has.
Found hunt_members(const WorldPlan& plan, Mutant mutant) {
  const HuntedSeed hunted = hunt_in_changing_members(mutant, {plan.first, plan.seeds});
  return {hunted.seed, hunted.what};
}

Found hunt(WorldPlan plan, Mutant mutant) {
  plan.mutant = mutant;
  plan.stop_at_failure = true;
  plan.replay_every = 0;
  plan.make_world = [mutant](std::uint64_t seed) {
    WorldOptions options = of_operators(mutant) ? member_world_of_seed(seed) : world_of_seed(seed);
    options.turn_threads = of_lanes(mutant) ? 0 : 1;
    options.judges_liveness = !of_operators(mutant);  // Some do not converge without a mistake.
    return options;
  };
  Found found;
  run_worlds(plan, [&](const WorldOptions& options, const WorldResult& result) {
    if (found.seed == 0 || options.seed < found.seed) {
      found = {options.seed, result.violation.substr(0, result.violation.find('\n'))};
    }
  });
  return found;
}

Json row_of(Mutant mutant, const Found& found) {
  return {{"mutant", mutant_name(mutant)},
          {"story", mutant_story(mutant)},
          {"seed", found.seed},
          {"found", found.what}};
}

void print_row(Mutant mutant, const Found& found) {
  const std::string seed = found.seed == 0 ? "not found" : "seed " + std::to_string(found.seed);
  std::printf(
      "%-30s %-10s %s\n", mutant_name(mutant), seed.c_str(), found.what.substr(0, 90).c_str());
  std::fflush(stdout);
}

}  // namespace

int run_mutants_verb(int argc, char** argv) {
  CLI::App app{
      "plant classic mistakes around the simulated nodes, one at a time, and search for each",
      "gcoord chaos mutants"};
  WorldPlan plan;
  plan.seeds = 500;
  plan.jobs = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  std::vector<std::string> only;
  bool json = false;
  app.add_option("MUTANT", only, "Names of mistakes (default: all)");
  app.add_option("--seeds", plan.seeds, "Maximum number of seeds for each mistake")
      ->capture_default_str();
  app.add_option("--first", plan.first, "First seed")->capture_default_str();
  app.add_option("--jobs", plan.jobs, "Number of seeds in parallel (default: cores)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--json", json, "Print one JSON object on the last line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Json rows = Json::array();
  std::size_t missed = 0;
  for (std::size_t k = 1; k < kMutantCount; ++k) {
    const auto mutant = static_cast<Mutant>(k);
    if (!only.empty() && std::ranges::find(only, mutant_name(mutant)) == only.end()) {
      continue;
    }
    const Found found = of_members(mutant) ? hunt_members(plan, mutant) : hunt(plan, mutant);
    missed += found.seed == 0 ? 1u : 0u;
    rows.push_back(row_of(mutant, found));
    print_row(mutant, found);
  }
  if (rows.empty() || (!only.empty() && rows.size() != only.size())) {
    std::fprintf(stderr, "gcoord chaos mutants: there is no mistake of this name\n");
    return 2;
  }
  std::printf("%zu of %zu mistakes found within %llu seeds each\n",
              rows.size() - missed,
              rows.size(),
              static_cast<unsigned long long>(plan.seeds));
  if (json) {
    std::printf("%s\n", Json{{"mutants", rows}, {"missed", missed}}.dump().c_str());
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace gcoord::chaos
