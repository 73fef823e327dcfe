// `chaos sim` and `chaos replay`: ranges of seeds, and one seed.
#include "chaos/sim/sim_world.h"
#include "chaos/verbs/chaos_verb.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace gcoord::chaos {
namespace {

// Runs the seed; true if nothing was broken.
bool run_seed(std::uint64_t seed) {
  const SimResult result = SimWorld(options_of_seed(seed)).run();
  if (!result.violation.empty()) {
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.violation.c_str());
  }
  return result.violation.empty();
}

int end_of(std::uint64_t seeds, std::uint64_t violations, bool json) {
  if (json) {
    std::printf("%s\n",
                nlohmann::json{{"seeds", seeds}, {"violations", violations}}.dump().c_str());
  }
  return violations == 0 ? 0 : 1;
}

}  // namespace

int run_sim_verb(int argc, char** argv) {
  CLI::App app{"runs seeds of a simulated cluster under faults and checks it", "gcoord chaos sim"};
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  bool json = false;
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")->capture_default_str();
  app.add_flag("--json", json, "End with one JSON object on the last line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::uint64_t violations = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    violations += run_seed(seed) ? 0u : 1u;
  }
  return end_of(seeds, violations, json);
}

int run_replay_verb(int argc, char** argv) {
  CLI::App app{"runs one seed again", "gcoord chaos replay"};
  std::uint64_t seed = 0;
  bool json = false;
  app.add_option("SEED", seed, "The seed")->required();
  app.add_flag("--json", json, "End with one JSON object on the last line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return end_of(1, run_seed(seed) ? 0u : 1u, json);
}

}  // namespace gcoord::chaos
