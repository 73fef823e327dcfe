// `./gcoord chaos live`: real nodes, real load, real faults (chaos/live/live.h).
#include "chaos/live/live.h"
#include "chaos/process/own_path.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/rings/attackers.h"
#include "chaos/verbs/chaos_verb.h"
#include "common/random.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <random>

namespace gcoord::chaos {

namespace {

struct Arguments {
  LiveOptions live;
  std::uint64_t seconds = 60;
  bool json = false;
  bool list = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  LiveOptions& live = arguments.live;
  app.add_option("--seconds", arguments.seconds, "duration of the load (default 60)")
      ->check(CLI::Range(15, 86'400));
  app.add_option("--nodes", live.nodes, "number of nodes of the cluster (default 5)")
      ->check(CLI::Range(3, 7));
  app.add_option("--shards", live.shards, "number of shards of the cluster (default 64)")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--clients", live.clients, "number of client processes (default 4)")
      ->check(CLI::Range(1, 32));
  app.add_option_function<std::string>(
         "--transport",
         [&live](const std::string& name) {
           live.client_way = client_way_of(name).value_or(ClientWay::Tcp);
         },
         "how client processes reach the nodes: tcp (default), shm, shared memory; or mixed: of "
         "three processes one by each, and one by both")
      ->check(CLI::IsMember({"tcp", "shm", "mixed"}));
  app.add_option("--rate", live.rate, "operations/s of all clients (default 1500)")
      ->check(CLI::Range(10, 1'000'000));
  app.add_option("--seed", live.seed, "seed of the schedule of faults (default: random, printed)");
  app.add_option("--faults", live.faults, "only these fault classes, separated by commas")
      ->delimiter(',');
  app.add_option("--device",
                 live.place.device,
                 "device that steps the shards: cpu (default), cuda:N, or twin, which needs no "
                 "GPU; with a device, device faults are included");
  app.add_flag_callback(
      "--resident",
      [&live] { live.place.resident = true; },
      "run the nodes with --turn resident, on twins unless --device names others; needs 3, 5 or "
      "7 nodes; they write no traces, so only histories are checked");
  app.add_flag("--list", arguments.list, "list the classes of faults, and exit");
  app.add_option("--report", live.report, "write a report of the run to this file")
      ->type_name("FILE.html");
  app.add_option("--directory", live.directory, "parent of the run's directory");
  app.add_flag("--keep", live.keep, "keep the directory with logs, data, histories and traces");
  app.add_flag_callback(
      "--untimed",
      [&live] { live.judges_time = false; },
      "measure the time until shards have leaders after healing, without a limit");
  app.add_flag("--json", arguments.json, "print the result as one JSON object on the last line");
}

CLI::App* add_attacker(CLI::App& app, RingAttackOptions& attack, long long& length_ms) {
  CLI::App* role =
      app.add_subcommand("ring-client", "misuse shared memory; the run starts it")->group("");
  role->add_option("--path", attack.path)->required();
  role->add_option_function<std::string>("--attack",
                                         [&attack](const std::string& name) {
                                           attack.attack =
                                               ring_attack_of(name).value_or(RingAttack::Scribble);
                                         })
      ->check(CLI::IsMember({"scribble", "die-in-write", "never-read"}))
      ->required();
  role->add_option("--seed", attack.seed)->required();
  role->add_option("--length-ms", length_ms)->required();
  return role;
}

std::string replay_command(const Arguments& arguments) {
  const LiveOptions& live = arguments.live;
  std::string command = "./gcoord chaos live --seconds " + std::to_string(arguments.seconds) +
                        " --nodes " + std::to_string(live.nodes) + " --shards " +
                        std::to_string(live.shards) + " --clients " + std::to_string(live.clients) +
                        " --rate " + std::to_string(live.rate) + " --seed " +
                        std::to_string(live.seed);
  command += live.place.device.empty() ? "" : " --device " + live.place.device;
  command += live.place.resident ? " --resident" : "";
  command += live.client_way == ClientWay::Tcp
                 ? ""
                 : " --transport " + std::string{client_way_name(live.client_way)};
  for (std::size_t i = 0; i < live.faults.size(); ++i) {
    command += (i == 0 ? " --faults " : ",") + live.faults[i];
  }
  return command;
}

int run_as_worker(WorkerOptions options,
                  long long length_ms,
                  long long round_us,
                  long long ttl_ms) {
  options.length = std::chrono::milliseconds{length_ms};
  options.leases = true;
  options.plan.prefix = "live";
  options.plan.session_ttl = std::chrono::milliseconds{ttl_ms};
  options.plan.round_length = std::chrono::microseconds{round_us};
  options.plan.names_last = std::chrono::seconds{15};
  options.plan.long_hold_one_in = 6;
  options.plan.reopens = true;
  const Status status = run_worker(options);
  if (!status.ok()) {
    std::fprintf(stderr, "client process %u: %s\n", options.number, status.to_string().c_str());
  }
  return status.ok() ? 0 : 1;
}

int run_live_with(Arguments& arguments, bool seed_given) {
  if (const Status known = check_fault_names(arguments.live.faults, arguments.live.place);
      !known.ok()) {
    std::fprintf(stderr, "gcoord chaos live: %s\n", known.to_string().c_str());
    return 2;
  }
  LiveOptions& live = arguments.live;
  live.seed = seed_given ? live.seed : std::random_device{}();
  live.length = std::chrono::seconds{arguments.seconds};
  live.gcoordd = program_beside("gcoordd");
  live.library = program_beside("../lib/libgcoord_chaos_shim.so");
  live.worker_command = {own_path().string(), "live", "worker"};
  live.attacker_command = {own_path().string(), "live", "ring-client"};
  live.replay = replay_command(arguments);
  return run_live(live, arguments.json);
}

}  // namespace

int run_live_verb(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "run real nodes on this machine under load and faults of every class, and check the results",
      "gcoord chaos live"};
  Arguments arguments;
  arguments.live.directory = parent_of_runs("chaos");
  add_options(app, arguments);
  WorkerOptions worker;
  long long length_ms = 0;
  long long round_us = 0;
  long long ttl_ms = 0;
  CLI::App* role =
      app.add_subcommand("worker", "run one client process; the run starts it")->group("");
  role->add_option("--endpoints", worker.endpoints)->delimiter(',')->required();
  role->add_option("--history", worker.history)->required();
  role->add_option("--number", worker.number)->required();
  role->add_option("--lanes", worker.lanes)->required();
  role->add_option("--seed", worker.seed)->required();
  role->add_option("--store", worker.store)->required();
  role->add_option("--round-us", round_us)->required();
  role->add_option("--session-ttl-ms", ttl_ms)->required();
  role->add_option("--length-ms", length_ms)->required();
  RingAttackOptions attack;
  long long attack_ms = 0;
  CLI::App* attacker = add_attacker(app, attack, attack_ms);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (role->parsed()) {
    return run_as_worker(worker, length_ms, round_us, ttl_ms);
  }
  if (attacker->parsed()) {
    attack.length = std::chrono::milliseconds{attack_ms};
    return run_ring_attacker(attack);
  }
  if (arguments.list) {
    std::fputs(list_faults(arguments.live.place).c_str(), stdout);
    return 0;
  }
  if (arguments.live.place.resident && app.count("--nodes") == 0) {
    arguments.live.nodes = 3;
  }
  const std::uint32_t nodes = arguments.live.nodes;
  if (arguments.live.place.resident && nodes != 3 && nodes != 5 && nodes != 7) {
    std::fputs("gcoord chaos live: --turn resident needs 3, 5 or 7 nodes\n", stderr);
    return 2;
  }
  return run_live_with(arguments, app.count("--seed") > 0);
}

}  // namespace gcoord::chaos
