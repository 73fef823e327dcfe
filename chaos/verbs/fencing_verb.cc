// `./gcoord chaos fencing`: holders stopped beyond their TTL (chaos/fencing/fencing.h).
#include "chaos/fencing/fencing.h"
#include "chaos/fencing/fencing_worker.h"
#include "chaos/process/own_path.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/verbs/chaos_verb.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>

namespace gcoord::chaos {

namespace {

int run(const FencingOptions& options, bool json) {
  std::vector<FencingResult> results;
  for (const bool etcd : {false, true}) {
    if (etcd && !options.etcd) {
      continue;
    }
    std::printf("%s: %llu contended grants, %llu holders to be stopped beyond %lld s\n",
                etcd ? "etcd" : "gcoord",
                static_cast<unsigned long long>(options.grants),
                static_cast<unsigned long long>(options.stopped),
                static_cast<long long>(options.ttl.count()));
    std::fflush(stdout);
    const auto result = run_fencing(options, etcd);
    if (!result.ok()) {
      std::fprintf(stderr, "gcoord chaos fencing: %s\n", result.status().to_string().c_str());
      return 1;
    }
    results.push_back(result.value());
  }
  const FencingResult& ours = results.front();
  const bool enough = ours.holders_stopped >= options.stopped && ours.contended >= options.grants;
  std::fputs(to_text(results).c_str(), stdout);
  if (!enough) {
    std::printf("FAILED: too few grants or stopped holders for a conclusion\n");
  }
  if (json) {
    Json all = {{"violations", ours.stale_accepted}, {"enough", enough}};
    for (const FencingResult& result : results) {
      all[result.system] = to_json(result);
    }
    std::printf("%s\n", all.dump().c_str());
  }
  return ours.passed() && enough ? 0 : 1;
}

void add_options(CLI::App& app, FencingOptions& options) {
  app.add_option("--grants", options.grants, "number of contended grants (default 100000)")
      ->check(CLI::Range(100, 100'000'000));
  app.add_option("--stopped", options.stopped, "minimum number of stopped holders (default 1000)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--processes", options.processes, "number of client processes (default 6)")
      ->check(CLI::Range(2, 64));
  app.add_option("--lanes",
                 options.lanes,
                 "number of lock names, and of lanes that wait and hold in each client process "
                 "(default 32)")
      ->check(CLI::Range(1, 62));
  app.add_option_function<std::uint32_t>(
         "--seconds",
         [&options](std::uint32_t seconds) { options.length_max = std::chrono::seconds{seconds}; },
         "time limit of each run; it then ends with its results so far (default 1200)")
      ->check(CLI::Range(10, 86'400));
  app.add_option(
      "--seed", options.seed, "seed of the choice of stopped holders and times (default 1)");
  app.add_flag("--etcd", options.etcd, "repeat the run against etcd's lock (Debian: etcd-server)");
  app.add_option("--directory", options.directory, "parent of the run's directories");
  app.add_flag("--keep", options.keep, "keep them");
}

}  // namespace

int run_fencing_verb(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"stop lock holders beyond their TTL, and count the writes of stale holders",
               "gcoord chaos fencing"};
  FencingOptions options;
  options.directory = parent_of_runs("chaos");
  options.gcoordd = program_beside("gcoordd");
  options.worker_command = {own_path().string(), "fencing", "worker"};
  bool json = false;
  add_options(app, options);
  app.add_flag("--json", json, "print the result as one JSON object on the last line");
  FencingWorkerOptions worker;
  long long ttl_s = 2;
  CLI::App* role =
      app.add_subcommand("worker", "run one client process; the run starts it")->group("");
  role->add_option("--endpoints", worker.endpoints)->delimiter(',')->required();
  role->add_option("--directory", worker.directory)->required();
  role->add_option("--number", worker.number)->required();
  role->add_option("--lanes", worker.lanes)->required();
  role->add_option("--ttl-s", ttl_s)->required();
  role->add_flag("--etcd", worker.etcd);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!role->parsed()) {
    return run(options, json);
  }
  worker.ttl = std::chrono::seconds{ttl_s};
  worker.guarded = !worker.etcd;  // etcd's lock hands out no token that a store could look at.
  const Status status = run_fencing_worker(worker);
  if (!status.ok()) {
    std::fprintf(stderr, "client process %u: %s\n", worker.number, status.to_string().c_str());
  }
  return status.ok() ? 0 : 1;
}

}  // namespace gcoord::chaos
