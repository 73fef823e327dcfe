// `chaos sim` and `chaos replay`: ranges of seeds, and one seed.
#include "chaos/verbs/chaos_verb.h"
#include "chaos/world/world_runs.h"
#include "common/json/value.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

namespace gcoord::chaos {
namespace {

// From so many seeds on, a class that never struck is a fault of the run.
constexpr std::uint64_t kSeedsForAllClasses = 1000;

Json faults_json(const FaultCounts& faults) {
  Json json = Json::object();
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    json[fault_class_name(static_cast<FaultClass>(k))] = faults[k];
  }
  return json;
}

// Faults of devices cannot strike where nobody has one, nor those of members where none change.
bool could_strike(const WorldTotals& totals, std::size_t fault) {
  const bool members_change = totals.faults[static_cast<std::size_t>(FaultClass::MemberChange)] > 0;
  return (totals.steps_checked != 0 || (kDeviceFaults >> fault & 1u) == 0) &&
         (members_change || (kMemberFaults >> fault & 1u) == 0);
}

std::vector<std::string> never_struck(const WorldTotals& totals) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    if (totals.faults[k] == 0 && could_strike(totals, k)) {
      names.emplace_back(fault_class_name(static_cast<FaultClass>(k)));
    }
  }
  return names;
}

std::uint64_t sum(const FaultCounts& faults) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : faults) {
    total += count;
  }
  return total;
}

// The rule of three: when none of N seeds failed, one fails less often than 3/N with 95 %
// confidence.
std::optional<double> failure_bound(const WorldTotals& totals) {
  if (totals.violations != 0 || totals.undecided != 0 || totals.seeds == 0) {
    return std::nullopt;
  }
  return 3.0 / static_cast<double>(totals.seeds);
}

Json to_json(const WorldTotals& totals) {
  const double hours = static_cast<double>(totals.simulated_ms) / 3'600'000.0;
  Json json{{"violations", totals.violations},
            {"undecided", totals.undecided},
            {"seeds", totals.seeds},
            {"replays", totals.replays},
            {"replays_unequal", totals.replays_unequal},
            {"acknowledged", totals.acknowledged},
            {"operations", totals.operations},
            {"weak_reads", totals.weak_reads},
            {"quorum_reads", totals.quorum_reads},
            {"lost", totals.lost},
            {"sessions", totals.sessions.opened},
            {"sessions_ended_early", totals.sessions.ended_early},
            {"simulated_hours", hours},
            {"device_steps_checked", totals.steps_checked},
            {"wall_seconds", totals.wall_s},
            {"led_after_healing_ms_max", totals.led_ms_max},
            {"injected", sum(totals.faults)},
            {"never_struck", never_struck(totals)},
            {"faults", faults_json(totals.faults)}};
  if (const auto bound = failure_bound(totals)) {
    json["failure_per_seed_below"] = *bound;
  }
  return json;
}

void print_text(const WorldTotals& totals) {
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    std::printf("  %-18s %12llu\n",
                fault_class_name(static_cast<FaultClass>(k)),
                static_cast<unsigned long long>(totals.faults[k]));
  }
  std::printf(
      "%llu seeds, %.1f simulated hours in %.0f s, %llu operations acknowledged, %llu lost\n",
      static_cast<unsigned long long>(totals.seeds),
      static_cast<double>(totals.simulated_ms) / 3'600'000.0,
      totals.wall_s,
      static_cast<unsigned long long>(totals.acknowledged),
      static_cast<unsigned long long>(totals.lost));
  std::printf("%llu changes of members; %llu of %llu sessions lost or ended early\n",
              static_cast<unsigned long long>(
                  totals.faults[static_cast<std::size_t>(FaultClass::MemberChange)]),
              static_cast<unsigned long long>(totals.sessions.ended_early),
              static_cast<unsigned long long>(totals.sessions.opened));
  if (totals.steps_checked > 0) {
    std::printf("%llu steps of devices were repeated on the host with equal results\n",
                static_cast<unsigned long long>(totals.steps_checked));
  }
  std::printf("%llu violations, %llu undecided, %llu of %llu replays unequal\n",
              static_cast<unsigned long long>(totals.violations),
              static_cast<unsigned long long>(totals.undecided),
              static_cast<unsigned long long>(totals.replays_unequal),
              static_cast<unsigned long long>(totals.replays));
  if (const auto bound = failure_bound(totals)) {
    std::printf("a seed fails less often than %.2g (3/N, with 95 %% confidence)\n", *bound);
  }
}

// Tells of a failed seed, makes it small, and keeps it.
void on_failed(const WorldOptions& options,
               const WorldResult& result,
               std::uint32_t tries,
               const std::string& seeds_file) {
  std::printf(
      "seed %llu: %s\n", static_cast<unsigned long long>(options.seed), result.violation.c_str());
  if (tries > 0) {
    const std::string arguments = replay_arguments(minimise(options, tries));
    std::printf("  smallest found: ./gcoord chaos replay %s\n", arguments.c_str());
    if (!seeds_file.empty()) {
      const std::string first_line = result.violation.substr(0, result.violation.find('\n'));
      std::ofstream{seeds_file, std::ios::app} << "world " << arguments << "  # " << first_line
                                               << "\n";
    }
  }
  std::fflush(stdout);
}

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

struct SimArguments {
  WorldPlan plan;
  std::uint64_t minutes = 0;
  std::uint32_t tries = 40;
  std::string seeds_file;
  std::string device = "cpu";
  std::uint32_t turn_threads = 1;
  bool members = false;
  bool groups = false;
  bool safety_only = false;
  bool json = false;
};

void add_turn_threads(CLI::App& app, std::uint32_t& turn_threads) {
  app.add_option("--turn-threads",
                 turn_threads,
                 "Turn threads of each node, worked on one after the other; 0: each start of a "
                 "node draws 1 to 4")
      ->check(CLI::Range(0u, server::kTurnThreadsMax))
      ->capture_default_str();
}

void add_safety_only(CLI::App& app, bool& safety_only) {
  app.add_flag("--safety-only",
               safety_only,
               "Do not count it as a violation when a world does not converge after its faults");
}

// Exits the verb with 2 where there is no such device.
std::optional<server::DeviceChoice> device_of(const std::string& text, const char* verb) {
  const auto choice = server::parse_device_choice(text);
  const Status usable = choice.ok() ? check_device(choice.value()) : choice.status();
  if (!usable.ok()) {
    std::fprintf(stderr, "gcoord chaos %s: --device: %s\n", verb, usable.message().c_str());
    return std::nullopt;
  }
  return choice.value();
}

void add_options(CLI::App& app, SimArguments& arguments) {
  app.add_option("--seeds", arguments.plan.seeds, "Number of seeds")->capture_default_str();
  app.add_option("--first", arguments.plan.first, "First seed")->capture_default_str();
  app.add_option("--jobs", arguments.plan.jobs, "Number of seeds in parallel (default: cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--minutes", arguments.minutes, "Start no seed after this time (0: no limit)");
  app.add_option(
         "--replay-every", arguments.plan.replay_every, "Run every n-th seed twice; 0: none")
      ->capture_default_str();
  app.add_option(
         "--tries", arguments.tries, "Number of runs to minimise a failed seed; 0: do not minimise")
      ->capture_default_str();
  app.add_option("--seeds-file", arguments.seeds_file, "Append failed seeds to this file")
      ->type_name("FILE");
  app.add_option(
         "--device",
         arguments.device,
         "Device that steps the shards: cpu, twin (emulation of a device on the host) or cuda:N; "
         "with a device, the host repeats every step and device faults are injected")
      ->capture_default_str();
  add_turn_threads(app, arguments.turn_threads);
  app.add_flag("--members", arguments.members, "Worlds whose nodes come and go, with an operator");
  app.add_flag("--groups", arguments.groups, "Members of groups in every world besides clients")
      ->excludes("--members");
  add_safety_only(app, arguments.safety_only);
  app.add_flag("--json", arguments.json, "Print one JSON object on the last line");
}

}  // namespace

int run_sim_verb(int argc, char** argv) {
  CLI::App app{
      "run seeds of a simulated cluster (the product's nodes and locks) under faults, and check it",
      "gcoord chaos sim"};
  SimArguments arguments;
  arguments.plan.jobs = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  add_options(app, arguments);
  if (const int code = parse(app, argc, argv); code >= 0) {
    return code;
  }
  const auto device = device_of(arguments.device, "sim");
  if (!device) {
    return 2;
  }
  arguments.plan.make_world = [device = *device,
                               members = arguments.members,
                               groups = arguments.groups,
                               liveness = !arguments.safety_only,
                               threads = arguments.turn_threads](std::uint64_t seed) {
    WorldOptions world = members  ? member_world_of_seed(seed, device)
                         : groups ? group_world_of_seed(seed, device)
                                  : world_of_seed(seed, device);
    world.judges_liveness = liveness;
    world.turn_threads = threads;
    return world;
  };
  arguments.plan.time_max = std::chrono::minutes{arguments.minutes};
  const WorldTotals totals =
      run_worlds(arguments.plan, [&](const WorldOptions& options, const WorldResult& result) {
        on_failed(options, result, arguments.tries, arguments.seeds_file);
      });
  print_text(totals);
  bool right = totals.violations == 0 && totals.undecided == 0 && totals.replays_unequal == 0 &&
               totals.seeds > 0;
  if (totals.seeds >= kSeedsForAllClasses) {
    for (const std::string& name : never_struck(totals)) {
      std::printf("never struck: %s\n", name.c_str());
      right = false;
    }
  }
  if (arguments.json) {
    std::printf("%s\n", to_json(totals).dump().c_str());
  }
  return right ? 0 : 1;
}

namespace {

struct ReplayArguments {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 0;
  std::uint32_t clients = 0;
  std::uint32_t group_members = 0;
  std::uint64_t safety_ms = 0;
  std::string faults;
  std::string mutant = "none";
  std::string device = "cpu";
  std::uint32_t turn_threads = 1;
  std::string history;
  bool power = false;
  bool members = false;
  bool safety_only = false;
  bool tells = false;
  std::uint32_t told_shard = kNoShard;
  bool json = false;
};

std::optional<WorldOptions> world_of(const ReplayArguments& arguments) {
  const auto device = device_of(arguments.device, "replay");
  if (!device) {
    return std::nullopt;
  }
  WorldOptions options = arguments.power     ? power_world_of_seed(arguments.seed)
                         : arguments.members ? member_world_of_seed(arguments.seed, *device)
                                             : world_of_seed(arguments.seed, *device);
  options.node_count = arguments.nodes != 0 ? arguments.nodes : options.node_count;
  options.client_count = arguments.clients != 0 ? arguments.clients : options.client_count;
  options.group_members = arguments.group_members;
  options.safety_ms = arguments.safety_ms != 0 ? arguments.safety_ms : options.safety_ms;
  const auto mutant = find_mutant(arguments.mutant);
  if (!mutant) {
    std::fprintf(stderr, "gcoord chaos replay: no mistake %s\n", arguments.mutant.c_str());
    return std::nullopt;
  }
  options.mutant = *mutant;
  options.turn_threads = arguments.turn_threads;
  options.judges_liveness = !arguments.safety_only;
  options.tells = arguments.tells;
  options.told_shard = arguments.told_shard;
  if (!arguments.faults.empty()) {
    const auto faults = parse_faults(arguments.faults);
    if (!faults.ok()) {
      std::fprintf(stderr, "gcoord chaos replay: %s\n", faults.status().message().c_str());
      return std::nullopt;
    }
    options.set_faults(faults.value());
  }
  return options;
}

void write_history(const World& world, const std::string& file) {
  std::ofstream out{file};
  for (const Operation& operation : world.judge().operations()) {
    out << to_json_line(operation) << "\n";
  }
}

}  // namespace

int run_replay_verb(int argc, char** argv) {
  CLI::App app{"run one seed of chaos sim again, complete or minimised", "gcoord chaos replay"};
  ReplayArguments arguments;
  app.add_option("SEED", arguments.seed, "The seed")->required();
  app.add_option("--nodes", arguments.nodes, "Number of nodes, 3 to 7")->check(CLI::Range(3, 7));
  app.add_option("--clients", arguments.clients, "Clients")->check(CLI::Range(1, 64));
  app.add_flag("--members", arguments.members, "Use the world that chaos sim --members makes");
  app.add_option("--group-members", arguments.group_members, "Members of groups")
      ->check(CLI::Range(0, 64))
      ->excludes("--members");
  app.add_option("--safety-ms", arguments.safety_ms, "Duration of the safety phase");
  app.add_option("--faults", arguments.faults, "Fault classes, separated by commas; or none");
  app.add_flag("--power", arguments.power, "Use the world that chaos disks makes from the seed");
  add_safety_only(app, arguments.safety_only);
  app.add_option("--mutant", arguments.mutant, "Mistake to plant (chaos mutants)");
  app.add_option("--device", arguments.device, "Device that steps the shards: cpu, twin or cuda:N");
  add_turn_threads(app, arguments.turn_threads);
  app.add_option("--tell-shard", arguments.told_shard, "Also print every message about a shard");
  app.add_flag("--tell", arguments.tells, "Print each fault and its target to stderr");
  app.add_option("--history", arguments.history, "Write the history of the clients to this file");
  app.add_flag("--json", arguments.json, "Print one JSON object on the last line");
  if (const int code = parse(app, argc, argv); code >= 0) {
    return code;
  }
  const auto options = world_of(arguments);
  if (!options) {
    return 2;
  }
  World world(*options);
  const WorldResult result = world.run();
  if (!arguments.history.empty()) {
    write_history(world, arguments.history);
  }
  WorldTotals totals;
  totals.seeds = 1;
  totals.undecided = result.undecided ? 1 : 0;
  totals.violations = result.violation.empty() || result.undecided ? 0 : 1;
  totals.acknowledged = result.acknowledged;
  totals.weak_reads = result.weak_reads;
  totals.quorum_reads = result.quorum_reads;
  totals.operations = result.operations;
  totals.lost = result.lost;
  totals.sessions = result.sessions;
  totals.simulated_ms = result.simulated_ms;
  totals.led_ms_max = result.led_ms;
  totals.steps_checked = result.steps_checked;
  totals.faults = result.faults;
  if (!result.violation.empty()) {
    std::printf("%s\n", result.violation.c_str());
  }
  print_text(totals);
  if (arguments.json) {
    auto json = to_json(totals);
    json["digest"] = std::to_string(result.digest);
    std::printf("%s\n", json.dump().c_str());
  }
  return result.violation.empty() ? 0 : 1;
}

}  // namespace gcoord::chaos
