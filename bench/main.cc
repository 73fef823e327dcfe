// gcoord-bench: benchmarks of whole clusters on this machine, with raw results kept.
//
// stderr talks; with --json the last line on stdout is the result as one object. Exit codes: 0
// measured, 1 something failed, 2 usage.
#include "bench/arguments/arguments.h"
#include "bench/channel/channel.h"
#include "bench/elections/coordinators.h"
#include "bench/elections/elections.h"
#include "bench/elections/failover.h"
#include "bench/elections/idle.h"
#include "bench/etcd/vs_etcd.h"
#include "bench/floods/never_read.h"
#include "bench/groups/barrier.h"
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
#include "bench/trust/trust.h"
#include "bench/turn/turn.h"
#include "bench/vs/peers/vs.h"
#include "bench/watch/watch.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

namespace gcoord::bench {
namespace {

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
    {"barrier", "time until all members of a group have passed a barrier", &bench_barrier, 64},
    {"never-read",
     "latency of others beside 20, 60 and 100 connections that send requests and never read",
     &bench_never_read,
     kDefaultShards},
    {"tls",
     "lock pairs with TLS against none, handshakes beside etcd, and from open to closed under load",
     &bench_tls,
     1024},
    {"auth",
     "logins beside etcd, 10,000 clients after a failover, and new certificates and secrets under "
     "load",
     &bench_auth,
     1024},
    {"check",
     "seconds for the check of 100,000 operations on 20 keys, by model",
     &bench_check,
     kDefaultShards},
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
    const auto path = options.part == "all" ? keep_result(arguments.results_directory, name, result)
                                            : keep_part(arguments.results_directory, name, result);
    std::fprintf(stderr,
                 "%s\n",
                 path.ok() ? ("result file: " + path.value().string()).c_str()
                           : path.status().to_string().c_str());
  }
  std::cout << (arguments.json ? result_line(result) : result.dump(2)) << std::endl;
  return 0;
}

int main_of(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"run benchmarks of whole gcoord clusters on this machine", "gcoord-bench"};
  app.require_subcommand(1);
  Arguments arguments;
  for (const Benchmark& benchmark : kBenchmarks) {
    CLI::App& command = *app.add_subcommand(benchmark.name, benchmark.what);
    add_options(command, benchmark, arguments);
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
