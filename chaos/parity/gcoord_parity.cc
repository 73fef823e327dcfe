// gcoord-parity: drives the step on the host and on a device from the same seed and compares all
// columns of all rows after every turn.
//
// Three replicas of many shards under losses, late messages, elections, transfers, configuration
// changes, reads, compaction, snapshots, lapses of liveness and restarts (resident_drive.h). Each
// seed is a fresh cluster. Exit codes: 0 equal, 1 different or broken, 2 usage, 77 no device.
#include "chaos/parity/parity_run.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  constexpr int kExitUsage = 2;
  constexpr int kExitSkipped = 77;
  CLI::App app("Compares the step on the host with the step on a device, row by row.",
               "gcoord-parity");
  gcoord::chaos::ParityOptions options;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  bool json = false;
  app.add_option("--device", options.device, "Device number; -1: its host twin")
      ->capture_default_str();
  app.add_option("--shards", options.shard_count, "Number of shards of a cluster")
      ->capture_default_str();
  app.add_option("--turns", options.turns_per_seed, "Number of turns per seed")
      ->capture_default_str();
  app.add_option("--seed", options.first_seed, "First seed")->capture_default_str();
  app.add_option(
         "--steps", options.steps_wanted, "Minimum of shard-steps, over as many seeds as needed")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Host threads")->capture_default_str();
  app.add_flag("--json", json, "Print one JSON object on the last line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const auto report = gcoord::chaos::run_parity(options);
  if (!report.ok()) {
    const bool absent = report.status().code() == gcoord::StatusCode::Unavailable;
    std::fprintf(stderr,
                 "gcoord-parity: %s%s\n",
                 absent ? "skipped: " : "",
                 report.status().message().c_str());
    return absent ? kExitSkipped : 1;
  }
  std::printf("%s\n", gcoord::chaos::to_text(report.value(), json).c_str());
  return report.value().difference.empty() ? 0 : 1;
}
