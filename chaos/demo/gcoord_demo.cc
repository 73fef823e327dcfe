// gcoord-demo: shows three real nodes keep real locks through a kill -9, and judges every answer.
//
// stdout tells what happens, step by step; with --json its last line is the result as one object.
// Exit codes: 0 every check held, 1 one did not or the demo could not be carried out, 2 usage.
#include "chaos/demo/demo.h"
#include "chaos/demo/demo_summary.h"
#include "chaos/demo/worker.h"
#include "chaos/process/own_path.h"
#include "chaos/process/scratch_directory.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <string>

namespace gcoord::chaos {
namespace {

int run(DemoOptions options, double seconds, bool json) {
  options.length = std::chrono::milliseconds{static_cast<long long>(seconds * 1000)};
  options.self = own_path();
  options.gcoordd = program_beside("gcoordd");
  const auto result = run_demo(options);
  if (!result.ok()) {
    std::fprintf(stderr, "gcoord-demo: %s\n", result.status().to_string().c_str());
    return 1;
  }
  std::fputs(to_text(result.value()).c_str(), stdout);
  if (json) {
    std::printf("%s\n", to_json(result.value()).dump().c_str());
  }
  return result.value().passed() ? 0 : 1;
}

int run_as_worker(WorkerOptions options, long long length_ms) {
  options.length = std::chrono::milliseconds{length_ms};
  const Status status = run_worker(options);
  if (!status.ok()) {
    std::fprintf(stderr, "client process %u: %s\n", options.number, status.to_string().c_str());
  }
  return status.ok() ? 0 : 1;
}

int main_of(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"run three gcoordd nodes on this machine under load, with a kill -9", "gcoord-demo"};
  DemoOptions demo;
  demo.directory = parent_of_runs("demo");
  double seconds = 10;
  bool json = false;
  app.add_flag("--json", json, "print the result as one JSON object on the last line");
  app.add_flag("--keep", demo.keep, "keep the directory with logs, data and histories");
  app.add_option("--seconds", seconds, "duration of the load (default 10)")
      ->check(CLI::Range(5.0, 3600.0));
  app.add_option("--shards", demo.shards, "number of shards of the cluster (default 65536)")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--clients", demo.clients, "number of client processes (default 4)")
      ->check(CLI::Range(1, 64));
  app.add_option("--lanes", demo.lanes, "requests in flight in each client process (default 16)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--device",
                 demo.device,
                 "device that steps the nodes' shards: auto (a GPU if there is one), cpu or cuda:N "
                 "(default auto)");
  app.add_option(
         "--durability", demo.durability, "durability of the cluster: durable (default) or memory")
      ->check(CLI::IsMember({"durable", "memory"}));
  app.add_option(
         "--turn",
         demo.turn,
         "turn of the nodes: host, resident, which runs on the device itself, or auto: where there "
         "is a GPU, the fastest way of a short trial (default auto)")
      ->check(CLI::IsMember({"auto", "host", "resident"}));
  app.add_option("--directory", demo.directory, "parent of the run's directory");

  WorkerOptions worker;
  long long length_ms = 0;
  CLI::App* role =
      app.add_subcommand("worker", "run one client process; the demo starts it")->group("");
  role->add_option("--endpoints", worker.endpoints)->delimiter(',')->required();
  role->add_option("--cacert", worker.tls.cacert)->required();
  role->add_option("--cert", worker.tls.cert)->required();
  role->add_option("--key", worker.tls.key)->required();
  role->add_option("--history", worker.history)->required();
  role->add_option("--number", worker.number)->required();
  role->add_option("--lanes", worker.lanes)->required();
  role->add_option("--seed", worker.seed)->required();
  role->add_option("--length-ms", length_ms)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return role->parsed() ? run_as_worker(worker, length_ms) : run(demo, seconds, json);
}

}  // namespace
}  // namespace gcoord::chaos

int main(int argc, char** argv) {
  return gcoord::chaos::main_of(argc, argv);
}
