#include "chaos/fencing/fencing.h"

#include "chaos/demo/interrupt.h"
#include "chaos/fencing/fencing_board.h"
#include "chaos/process/client_processes.h"
#include "chaos/process/etcd_cluster.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/run_times.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/random/draw.h"
#include "common/comma_list.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kNodes = 3;
constexpr std::chrono::seconds kWorkerEnd{60};

// Beyond the TTL: the expiry itself and the next grant.
constexpr std::chrono::milliseconds kBeyond{500};
constexpr std::chrono::milliseconds kBetween{200};

class FencingRun {
 public:
  FencingRun(const FencingOptions& options, const std::filesystem::path& directory, bool etcd)
      : options_(options), directory_(directory), etcd_(etcd), workers_(directory / "clients.log") {
    result_.system = etcd ? "etcd" : "gcoord";
  }

  Result<FencingResult> run() {
    GCOORD_TRY(const auto endpoints, start_cluster());
    GCOORD_TRY(board_, FencingBoard::open(directory_ / "board"));
    GCOORD_TRY_STATUS(start_workers(endpoints));
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(stop_holders(began));
    GCOORD_TRY_STATUS(workers_.await_ends(kWorkerEnd));
    result_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    take_counts();
    return judge();
  }

 private:
  Result<std::vector<std::string>> start_cluster() {
    if (etcd_) {
      GCOORD_TRY(auto cluster, EtcdCluster::start(directory_, kNodes));
      etcd_cluster_.emplace(std::move(cluster));
      return etcd_cluster_->endpoints();
    }
    LocalClusterOptions cluster;
    cluster.program = options_.gcoordd;
    cluster.directory = directory_;
    cluster.node_count = kNodes;
    cluster.shards = 64;
    GCOORD_TRY(auto planned, LocalCluster::plan(std::move(cluster)));
    cluster_.emplace(std::move(planned));
    GCOORD_TRY_STATUS(cluster_->start_all(kRunTimes.start));
    return cluster_->endpoints();
  }

  Status start_workers(const std::vector<std::string>& endpoints) {
    for (std::uint32_t number = 1; number <= options_.processes; ++number) {
      std::vector<std::string> arguments = options_.worker_command;
      for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{
               {"--endpoints", comma_list(endpoints)},
               {"--directory", directory_.string()},
               {"--number", std::to_string(number)},
               {"--lanes", std::to_string(options_.lanes)},
               {"--ttl-s", std::to_string(options_.ttl.count())}}) {
        arguments.insert(arguments.end(), {flag, value});
      }
      if (etcd_) {
        arguments.emplace_back("--etcd");
      }
      GCOORD_TRY_STATUS(workers_.start(std::move(arguments)));
    }
    return workers_.await_ready(kRunTimes.start);
  }

  std::uint64_t holders_of(std::uint32_t number) const {
    std::uint64_t holders = 0;
    for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
      holders += board_->page().holds[number * options_.lanes + lane].load() ? 1u : 0u;
    }
    return holders;
  }

  // One process after another stands still for longer than its leases live, until enough grants
  // were given and enough holders were stopped.
  Status stop_holders(Clock::time_point began) {
    for (std::uint64_t strike = 1; Clock::now() - began < options_.length_max; ++strike) {
      if (board_->page().contended.load() >= options_.grants &&
          result_.holders_stopped >= options_.stopped) {
        break;
      }
      for (ChildProcess& worker : workers_.each()) {
        if (worker.wait_for(std::chrono::milliseconds{0}).has_value()) {
          return Status{StatusCode::Aborted, "a client process ended early; see clients.log"};
        }
      }
      Draw draw{options_.seed, strike};
      const auto struck = draw.some(std::max(1u, options_.processes / 2), options_.processes);
      for (const std::uint32_t number : struck) {
        workers_.each()[number - 1].signal(SIGSTOP);
      }
      for (const std::uint32_t number : struck) {
        result_.holders_stopped += holders_of(number);
        ++result_.stops;
      }
      const bool calm = interrupt_.wait_until(Clock::now() + options_.ttl + kBeyond);
      for (const std::uint32_t number : struck) {
        workers_.each()[number - 1].signal(SIGCONT);
      }
      if (!calm || !interrupt_.wait_until(Clock::now() + kBetween)) {
        return Status{StatusCode::Cancelled, "interrupted"};
      }
    }
    board_->page().ended.store(true);
    return Status{};
  }

  void take_counts() {
    const FencingBoard::Page& page = board_->page();
    result_.grants = page.grants.load();
    result_.contended = page.contended.load();
    result_.writes = page.writes.load();
    result_.stale_writes = page.stale_writes.load();
    result_.stale_accepted = page.stale_accepted.load();
    result_.errors = page.errors.load();
  }

  // etcd's histories say nothing about leases that ended, so only its writes are counted.
  Result<FencingResult> judge() {
    if (etcd_) {
      return result_;
    }
    History history;
    for (std::uint32_t number = 1; number <= options_.processes; ++number) {
      GCOORD_TRY_STATUS(
          read_history(directory_ / fmt::format("history-{}.jsonl", number), history));
    }
    LinearOptions linear;
    linear.bounds.time_max = std::chrono::minutes{3};
    result_.checks = check_run(history, {}, linear);
    result_.judged = true;
    return result_;
  }

  const FencingOptions& options_;
  const std::filesystem::path& directory_;
  bool etcd_;
  Interrupt interrupt_;
  std::optional<LocalCluster> cluster_;
  std::optional<EtcdCluster> etcd_cluster_;
  std::unique_ptr<FencingBoard> board_;
  ClientProcesses workers_;  // After the clusters: they end first.
  FencingResult result_;
};

}  // namespace

bool FencingResult::passed() const {
  return stale_accepted == 0 && (!judged || checks.verdict == Verdict::Ok);
}

Result<FencingResult> run_fencing(const FencingOptions& options, bool etcd) {
  GCOORD_TRY(auto scratch, ScratchDirectory::make(options.directory, "gcoord-fencing"));
  FencingRun run{options, scratch.path(), etcd};
  auto result = run.run();
  if (options.keep || !result.ok() || (!etcd && !result.value().passed())) {
    scratch.keep();
    std::printf("kept: %s\n", scratch.path().c_str());
  }
  return result;
}

Json to_json(const FencingResult& result) {
  Json json = {{"system", result.system},
               {"seconds", result.seconds},
               {"grants", result.grants},
               {"contended_grants", result.contended},
               {"stops", result.stops},
               {"holders_stopped", result.holders_stopped},
               {"writes", result.writes},
               {"stale_writes", result.stale_writes},
               {"stale_accepted", result.stale_accepted},
               {"errors", result.errors}};
  if (result.judged) {
    json["checks"] = to_json(result.checks);
  }
  return json;
}

std::string to_text(const std::vector<FencingResult>& results) {
  std::string text = fmt::format("{:<34} {:>8} {:>9} {:>9} {:>9} {:>8} {:>9}\n",
                                 "",
                                 "grants",
                                 "contended",
                                 "stopped",
                                 "writes",
                                 "stale",
                                 "accepted");
  for (const FencingResult& result : results) {
    const std::string name = result.system == "etcd" ? "etcd's lock, as it is given out"
                                                     : "gcoord, the store checks tokens";
    text += fmt::format("{:<34} {:>8} {:>9} {:>9} {:>9} {:>8} {:>9}\n",
                        name,
                        result.grants,
                        result.contended,
                        result.holders_stopped,
                        result.writes,
                        result.stale_writes,
                        result.stale_accepted);
    if (result.judged) {
      text += to_text(result.checks);
    }
  }
  return text;
}

}  // namespace gcoord::chaos
