// `./gcoord chaos upgrade`: two releases in one cluster (chaos/upgrade/upgrade.h).
#include "chaos/process/own_path.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/upgrade/previous_release.h"
#include "chaos/upgrade/upgrade.h"
#include "chaos/verbs/chaos_verb.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <random>

namespace gcoord::chaos {

namespace {

// The release whose directories and frames the tests keep (tests/chaos/upgrade).
constexpr const char* kRecordedRelease = "4a56ad8";
// For resident turns: the last release whose nodes did not say their layout (docs/adr/0164).
constexpr const char* kResidentRelease = "c4b5f947";
// For both: this release, whose nodes are then restarted one by one.
constexpr const char* kThisRelease = "this";

struct Arguments {
  UpgradeOptions upgrade;
  std::string previous;
  std::uint64_t seconds = 120;
  bool json = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  UpgradeOptions& upgrade = arguments.upgrade;
  app.add_option("--previous",
                 arguments.previous,
                 "the previous release: a folder with its gcoordd, a commit, which is built once "
                 "in build/releases, or this, for restarts without an upgrade (default 4a56ad8; "
                 "with --resident c4b5f947)")
      ->type_name("COMMIT_OR_DIR");
  app.add_option("--seconds", arguments.seconds, "duration of the load (default 120)")
      ->check(CLI::Range(15, 86'400));
  app.add_option("--nodes", upgrade.nodes, "number of nodes of the cluster (default 3)")
      ->check(CLI::Range(3, 7));
  app.add_option("--shards", upgrade.shards, "number of shards of the cluster (default 64)")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--clients", upgrade.clients, "number of client processes (default 2)")
      ->check(CLI::Range(1, 32));
  app.add_option("--rate", upgrade.rate, "operations/s of all clients (default 500)")
      ->check(CLI::Range(10, 1'000'000));
  app.add_option("--durability", upgrade.durability, "durable (default) or memory")
      ->check(CLI::IsMember({"durable", "memory"}));
  app.add_flag("--resident",
               upgrade.resident,
               "run the nodes with --turn resident, on twins unless --device names others; needs "
               "3, 5 or 7 nodes; they write traces only with --previous this");
  app.add_option("--resident-peers",
                 upgrade.resident_peers,
                 "with --resident: auto (default), mapped or proxy")
      ->check(CLI::IsMember({"auto", "mapped", "proxy"}));
  app.add_option(
      "--device",
      upgrade.device,
      "device that steps the shards: cpu (default), cuda:N, or twin, which needs no GPU");
  app.add_option(
      "--seed", upgrade.seed, "seed of the order of nodes and of kills (default: random, printed)");
  app.add_option("--directory", upgrade.directory, "parent of the run's directory");
  app.add_flag("--keep", upgrade.keep, "keep the directory with logs, data, histories and traces");
  app.add_flag("--json", arguments.json, "print the result as one JSON object on the last line");
}

Result<ReleasePrograms> find_previous(const Arguments& arguments) {
  if (arguments.previous == kThisRelease) {
    return ReleasePrograms{.name = kThisRelease, .gcoordd = arguments.upgrade.gcoordd};
  }
  const char* const recorded = arguments.upgrade.resident ? kResidentRelease : kRecordedRelease;
  return previous_release(arguments.previous.empty() ? recorded : arguments.previous,
                          {.repository = ".", .cache = std::filesystem::path{"build/releases"}});
}

}  // namespace

int run_upgrade_verb(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "roll a cluster from the previous release to this one, back and up again, under "
      "load, and check the results",
      "gcoord chaos upgrade"};
  Arguments arguments;
  UpgradeOptions& upgrade = arguments.upgrade;
  upgrade.directory = parent_of_runs("chaos");
  upgrade.gcoordd = program_beside("gcoordd");
  upgrade.worker_command = {own_path().string(), "live", "worker"};
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (upgrade.resident && upgrade.nodes % 2 == 0) {
    std::fputs("gcoord chaos upgrade: --turn resident needs 3, 5 or 7 nodes\n", stderr);
    return 2;
  }
  auto previous = find_previous(arguments);
  if (!previous.ok()) {
    std::fprintf(stderr, "gcoord chaos upgrade: %s\n", previous.status().to_string().c_str());
    return previous.status().code() == StatusCode::NotFound ? 2 : 1;
  }
  upgrade.previous = std::move(previous).value();
  upgrade.trace = !upgrade.resident || arguments.previous == kThisRelease;
  upgrade.length = std::chrono::seconds{arguments.seconds};
  upgrade.seed = app.count("--seed") > 0 ? upgrade.seed : std::random_device{}();
  return run_upgrade(upgrade, arguments.json);
}

}  // namespace gcoord::chaos
