#include "bench/arguments/arguments.h"

#include "bench/turn/hash_plan.h"
#include "chaos/process/own_path.h"

#include <string_view>

namespace gcoord::bench {

namespace {

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

// Of the lock machine by itself.
void add_locks(CLI::App& command, BenchOptions& options) {
  command.add_option("--names", options.names, "lock names")->check(CLI::Range(1000, 100'000'000));
  command.add_option("--skew", options.skew, "distribution of names: uniform or zipf (0.99)")
      ->check(CLI::IsMember({"uniform", "zipf"}));
  command.add_option("--batch", options.batch, "commands of a batch (default: three sizes)")
      ->check(CLI::Range(1000, 4'194'304));
  command
      .add_option("--together",
                  options.together,
                  "on a device, decided entries of a shard from which on a whole warp applies "
                  "them (default 64; 0: never); of a list, for example 0,64, each is measured in "
                  "turn")
      ->delimiter(',');
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
  if (name == "barrier") {
    command.add_option("--members", options.members, "members that meet (default 64)")
        ->check(CLI::Range(2, 256));
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
  if (name == "tls") {
    command.add_option("--part", options.part, "all (default), pairs, handshakes or closing")
        ->check(CLI::IsMember({"all", "pairs", "handshakes", "closing"}));
  }
  if (name == "auth") {
    command.add_option("--part", options.part, "all (default), password, reconnect or rotation")
        ->check(CLI::IsMember({"all", "password", "reconnect", "rotation"}));
    command.add_option("--waiters", options.waiters, "clients that reconnect (default 10,000)")
        ->check(CLI::Range(1, 10'000));
  }
  if (name == "locks") {
    add_locks(command, options);
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
  const std::string_view name = benchmark.name;
  if (name == "failover" || name == "elections" || name == "waiters" || name == "watch") {
    command.add_option("--turn", options.turn, "turn of the nodes: host (default) or resident")
        ->check(CLI::IsMember({"host", "resident"}));
  }
  if (name == "failover") {
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

}  // namespace

Arguments::Arguments() {
  options.gcoordd = chaos::program_beside("gcoordd");
  options.directory = "build/bench";
  options.shards = 0;
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
  if (std::string_view{benchmark.name} == "turn") {
    add_hash(command, options);
  }
  command.add_option("--directory", options.directory, "directory for the files of the clusters");
  command.add_option("--results", arguments.results_directory, "directory for the result");
  command.add_flag("!--no-keep", arguments.keep_result, "do not write a result file");
}

}  // namespace gcoord::bench
