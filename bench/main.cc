// gcoord-bench: benchmarks of whole clusters on this machine, with raw results kept.
//
// stderr talks; with --json the last line on stdout is the result as one object. Exit codes: 0
// measured, 1 something failed, 2 usage.
#include "bench/channel/channel.h"
#include "bench/elections/coordinators.h"
#include "bench/elections/elections.h"
#include "bench/elections/failover.h"
#include "bench/elections/idle.h"
#include "bench/elections/scale.h"
#include "bench/etcd/vs_etcd.h"
#include "bench/floods/never_read.h"
#include "bench/leases/leases.h"
#include "bench/ledger/check.h"
#include "bench/ledger/merkle.h"
#include "bench/ledger/proofs.h"
#include "bench/locks/locks.h"
#include "bench/locks/pairs.h"
#include "bench/locks/sweeps.h"
#include "bench/locks/waiters.h"
#include "bench/poll/poll.h"
#include "bench/report/results_file.h"
#include "bench/step/step.h"
#include "bench/ticket/ticket.h"
#include "bench/turn/hash_plan.h"
#include "bench/turn/turn.h"
#include "bench/vs/peers/vs.h"
#include "bench/watch/watch.h"
#include "chaos/process/own_path.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

namespace gcoord::bench {
namespace {

struct Benchmark {
  const char* name;
  const char* what;
  BenchResult (*run)(const BenchOptions&);
  std::uint32_t shards;
  bool takes_durability = false;
};

constexpr std::uint32_t kDefaultShards = 65'536;
constexpr std::uint32_t kMillionShards = 1u << 20;
constexpr std::uint32_t kElectionShards = 4096;

constexpr Benchmark kBenchmarks[] = {
    {"vs",
     "gcoord with its defaults beside etcd 3.4 and 3.5, ZooKeeper and one Redis, in turn",
     &bench_vs,
     kDefaultShards},
    {"vs-etcd", "lock+unlock pairs per second and latency beside etcd", &bench_vs_etcd, 0},
    {"pairs",
     "lock+unlock pairs per second of gcoord alone, by number of clients",
     &bench_pairs,
     kDefaultShards,
     true},
    {"channel",
     "slots, bytes and round trips of channels between devices: --device cuda:0,cuda:1",
     &bench_channel,
     kDefaultShards},
    {"ticket",
     "hand-overs of the ticket lock between warps of GPUs: --device cuda:0,cuda:1",
     &bench_ticket,
     kDefaultShards},
    {"gpoll",
     "wake-up time of warps that wait for many lanes, and of hosts: --device cuda:0,cuda:1",
     &bench_poll,
     kDefaultShards},
    {"turn",
     "latency and rate of commits, and failover, of three nodes on GPUs: --device cuda:0,cuda:1",
     &bench_turn,
     kDefaultShards},
    {"idle",
     "CPU time and peer messages of a cluster without requests",
     &bench_idle,
     kDefaultShards},
    {"scale", "start time and memory with a million shards per node", &bench_scale, kMillionShards},
    {"failover",
     "time until all shards have a leader again after a kill -9",
     &bench_failover,
     kDefaultShards,
     true},
    {"elections",
     "time until very many elections have leaders again after a kill -9 of a client or a node",
     &bench_elections,
     kElectionShards},
    {"leases",
     "CPU time of renewals of many leases, delay when all expire together, failover with them",
     &bench_leases,
     kDefaultShards},
    {"etcd-leases",
     "the same for etcd alone, by number of leases",
     &bench_etcd_leases,
     kDefaultShards},
    {"bully",
     "messages of a coordinator election by the bully algorithm, by number of nodes",
     &bench_bully,
     kDefaultShards},
    {"ring",
     "messages of a coordinator election in a ring, by number of nodes",
     &bench_ring,
     kDefaultShards},
    {"locks",
     "lock commands applied per second, on one core, or with --device on a GPU",
     &bench_locks,
     kDefaultShards},
    {"sweeps",
     "keep-alives, expiry scans and deadlock scans, on one core, or with --device on a GPU",
     &bench_sweeps,
     kDefaultShards},
    {"merkle",
     "leaves and nodes hashed into Merkle trees per second, on one core, or with --device on a GPU",
     &bench_merkle,
     kDefaultShards},
    {"proofs",
     "inclusion proofs and proof files verified per second on one core",
     &bench_proofs,
     kDefaultShards},
    {"step",
     "shard-steps and commits per second of the pure step on one core, or with --device on a GPU",
     &bench_step,
     kDefaultShards},
    {"watch",
     "time until all watches of one name have received a change, and memory per watch",
     &bench_watch,
     64},
    {"waiters",
     "time and cost of a hand-over of one lock, by number of waiters",
     &bench_waiters,
     64,
     true},
    {"never-read",
     "latency of others beside 20, 60 and 100 connections that send requests and never read",
     &bench_never_read,
     kDefaultShards},
    {"check",
     "seconds for the check of 100,000 operations on 20 keys, by model",
     &bench_check,
     kDefaultShards},
};

struct Arguments {
  BenchOptions options;
  bool json = false;
  bool keep_result = true;
  double seconds = 5;
  std::string results_directory = "bench/results";
};

int run(const Benchmark& benchmark, Arguments& arguments) {
  BenchOptions& options = arguments.options;
  options.measured = std::chrono::milliseconds{static_cast<long long>(arguments.seconds * 1000)};
  std::error_code ignored;
  std::filesystem::create_directories(options.directory, ignored);
  options.directory = std::filesystem::absolute(options.directory, ignored);
  Json result = begin_result(benchmark.name, options.directory);
  auto measured = benchmark.run(options);
  if (!measured.ok()) {
    std::fprintf(stderr, "gcoord-bench: %s\n", measured.status().to_string().c_str());
    return 1;
  }
  merge_members(result, measured.value());
  if (arguments.keep_result) {
    const bool memory = options.durability == "memory";
    const std::string name = std::string(benchmark.name) + (memory ? "-memory" : "") +
                             (options.peers == "all" ? "" : "-part") +
                             (options.quick ? "-quick" : "");
    const auto path = keep_result(arguments.results_directory, name, result);
    std::fprintf(stderr,
                 "%s\n",
                 path.ok() ? ("result file: " + path.value().string()).c_str()
                           : path.status().to_string().c_str());
  }
  std::cout << (arguments.json ? result_line(result) : result.dump(2)) << std::endl;
  return 0;
}

void add_hash(CLI::App& command, BenchOptions& options) {
  const CLI::Validator plans{[](std::string& text) {
                               const auto parsed = parse_hash_plans(text);
                               return parsed.ok() ? std::string{} : parsed.status().message();
                             },
                             "PERCENT,..."};
  command
      .add_option(
          "--hash",
          options.hash,
          "measure commit rates with and without Merkle trees on every replica, alternating; P,... "
          "percent of a device's multiprocessors that run turns, like 70; the others hash")
      ->check(plans);
}

// How much of what a benchmark is about.
void add_sizes(CLI::App& command, std::string_view name, BenchOptions& options) {
  if (name == "elections") {
    command
        .add_option("--names", options.names, "number of elections, at most a million (default)")
        ->check(CLI::Range(3000, 1'000'000));
  }
  if (name == "etcd-leases") {
    command.add_option("--leases", options.leases, "maximum number of leases (default: 100,000)")
        ->check(CLI::Range(1000, 10'000'000));
  }
  if (name == "leases") {
    command.add_option("--leases", options.leases, "live leases")
        ->check(CLI::Range(100, 10'000'000));
    command
        .add_option("--part",
                    options.part,
                    "part to measure: all (default), steady (renewals, and leases that expire "
                    "together) or failover")
        ->check(CLI::IsMember({"all", "steady", "failover"}));
  }
  if (name == "watch") {
    command
        .add_option(
            "--watches", options.watches, "maximum number of watches, at most a million (default)")
        ->check(CLI::Range(1, 1'000'000));
  }
  if (name == "waiters") {
    command
        .add_option("--waiters",
                    options.waiters,
                    "longest queue (default 100,000); a tenth and a hundredth are measured too")
        ->check(CLI::Range(1, 1'000'000));
    command
        .add_option("--burst",
                    options.burst,
                    "number of waiters that join together (default 2,000); beyond 4,096 the leader "
                    "refuses some, and the order is not checked")
        ->check(CLI::Range(1, 1'000'000));
    command.add_flag(
        "--kill-leader",
        options.kill_leader,
        "kill -9 the leader of the lock's shard half-way; measures only the longest queue");
  }
  if (name == "locks") {
    command.add_option("--names", options.names, "lock names")
        ->check(CLI::Range(1000, 100'000'000));
    command.add_option("--skew", options.skew, "distribution of names: uniform or zipf (0.99)")
        ->check(CLI::IsMember({"uniform", "zipf"}));
  }
}

void add_peers(CLI::App& command, BenchOptions& options) {
  command.add_flag("--quick",
                   options.quick,
                   "one brief run of each, a minute or two together, to see that all is there; no "
                   "measurement");
  command.add_option("--peers",
                     options.peers,
                     "who takes part: all (default), or a list of gcoord, etcd-3.4, etcd-3.5, "
                     "zookeeper, redis-always, redis-everysec; the page of results wants all");
  command.add_option("--etcd35",
                     options.etcd35,
                     "program of etcd 3.5; without it that peer is reported as not run");
  command.add_option(
      "--cores",
      options.node_cores,
      "cores of all servers and clients together, for example 0,1 or 0-1 (default: all)");
}

// How the nodes run, where gcoord is not to run as it does by default.
void add_cluster(CLI::App& command, const Benchmark& benchmark, BenchOptions& options) {
  command
      .add_option("--shards",
                  options.shards,
                  "number of shards of the cluster (default " +
                      (benchmark.shards == 0 ? "the best for each load"
                                             : std::to_string(benchmark.shards)) +
                      ")")
      ->check(CLI::Range(1, 1 << 24));
  if (benchmark.takes_durability) {
    command
        .add_option("--durability",
                    options.durability,
                    "when a write is acknowledged: durable (default), on the disks of a majority; "
                    "memory, in the memory of a majority")
        ->check(CLI::IsMember({"durable", "memory"}));
  }
  if (std::string_view{benchmark.name} == "pairs") {
    command.add_flag("--one-session",
                     options.one_session,
                     "the clients are lock names of one session, pipelined");
  }
  if (std::string_view{benchmark.name} == "failover") {
    command.add_option("--turn", options.turn, "turn of the nodes: host (default) or resident")
        ->check(CLI::IsMember({"host", "resident"}));
    command.add_option("--tick-ms", options.tick_ms, "length of a tick of the nodes (default 10)")
        ->check(CLI::Range(1, 100));
  }
  command.add_option("--device",
                     options.device,
                     "device to measure: cpu, or cuda:N; for channel, ticket, gpoll, turn and "
                     "failover also cuda:N,cuda:M");
  command.add_option(
      "--node-cores",
      options.node_cores,
      "cores of the nodes, for example 0,1 or 0-1; the benchmark keeps its own cores");
}

void add_options(CLI::App& command, const Benchmark& benchmark, Arguments& arguments) {
  BenchOptions& options = arguments.options;
  const bool is_locks = std::string_view{benchmark.name} == "locks";
  command.add_flag("--json", arguments.json, "print the result as one object on the last line");
  if (!is_locks) {  // Its batches are of fixed sizes, and it has no clients.
    command.add_option("--runs", options.runs, "number of runs; the report has the medians")
        ->check(CLI::Range(1, 100));
    command.add_option("--seconds", arguments.seconds, "measured seconds of one run")
        ->check(CLI::Range(0.1, 600.0));
    command.add_option("--clients", options.clients, "concurrent clients")
        ->check(CLI::Range(1, 100'000));
  }
  if (std::string_view{benchmark.name} == "vs") {
    add_peers(command, options);
  } else {
    add_cluster(command, benchmark, options);
    add_sizes(command, benchmark.name, options);
  }
  command.add_option("--directory", options.directory, "directory for the files of the clusters");
  command.add_option("--results", arguments.results_directory, "directory for the result");
  command.add_flag("!--no-keep", arguments.keep_result, "do not write a result file");
}

int main_of(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"run benchmarks of whole gcoord clusters on this machine", "gcoord-bench"};
  app.require_subcommand(1);
  Arguments arguments;
  arguments.options.gcoordd = chaos::program_beside("gcoordd");
  arguments.options.directory = "build/bench";
  arguments.options.shards = 0;
  for (const Benchmark& benchmark : kBenchmarks) {
    CLI::App& command = *app.add_subcommand(benchmark.name, benchmark.what);
    add_options(command, benchmark, arguments);
    if (std::string_view{benchmark.name} == "turn") {
      add_hash(command, arguments.options);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const Benchmark& benchmark : kBenchmarks) {
    if (app.got_subcommand(benchmark.name)) {
      arguments.options.shards =
          arguments.options.shards == 0 ? benchmark.shards : arguments.options.shards;
      return run(benchmark, arguments);
    }
  }
  return 2;
}

}  // namespace
}  // namespace gcoord::bench

int main(int argc, char** argv) {
  return gcoord::bench::main_of(argc, argv);
}
