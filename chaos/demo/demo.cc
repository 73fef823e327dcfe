#include "chaos/demo/demo.h"

#include "chaos/check/checks.h"
#include "chaos/demo/cluster.h"
#include "chaos/demo/demo_summary.h"
#include "chaos/demo/final_sweep.h"
#include "chaos/demo/interrupt.h"
#include "chaos/demo/way_trial.h"
#include "chaos/process/client_processes.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/resource_usage.h"
#include "chaos/process/run_times.h"
#include "chaos/process/scratch_directory.h"
#include "common/json/members.h"
#include "common/json/value.h"
#include "gcoord/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFailoverTimeout{30};

// For a million shards on two busy cores.
constexpr std::chrono::seconds kReadmitTimeout{60};
constexpr std::chrono::milliseconds kVotesPoll{50};

// Beyond a worker's own deadlines: whatever is under way at the end is answered by then.
constexpr std::chrono::seconds kWorkerEnd{60};

// Whether every node that this one reaches is reached over TLS.
bool reaches_all_over_tls(const Json& status) {
  const Json peers = status.value("peers", Json::array());
  return peers.size() + 1 == kDemoNodes && std::ranges::all_of(peers, [](const Json& peer) {
           return peer.value("transport", std::string{}).find("with tls") != std::string::npos;
         });
}

Status interrupted() {
  return Status{StatusCode::Cancelled, "interrupted"};
}

class Demo {
 public:
  // The directory is the cluster's. `options` outlives it.
  Demo(const DemoOptions& options,
       const std::filesystem::path& directory,
       const DemoWay& way,
       DemoCluster cluster)
      : options_(options), cluster_(std::move(cluster)), workers_(directory / "workers.log") {
    result_.device_reason = way.devices.why;
  }

  Result<DemoResult> run() {
    GCOORD_TRY_STATUS(start_cluster());
    GCOORD_TRY_STATUS(start_workers());
    GCOORD_TRY_STATUS(kill_one());
    GCOORD_TRY_STATUS(restart_it());
    GCOORD_TRY_STATUS(await_workers());
    GCOORD_TRY_STATUS(judge_history());
    GCOORD_TRY_STATUS(compare_all_replicas());
    GCOORD_TRY_STATUS(fill_node_table());
    return result_;
  }

  // Ends what is left in order, so that a directory that is kept is one of a clean stop.
  void stop() {
    workers_.each().clear();
    client_.reset();
    cluster_.nodes().stop_all(kRunTimes.stop);
  }

 private:
  template <typename... Arguments>
  void step(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
    std::printf("%u. %s\n", ++step_count_, text.c_str());
    std::fflush(stdout);
  }

  template <typename... Arguments>
  void detail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
    std::printf("   %s\n", text.c_str());
    std::fflush(stdout);
  }

  // The first fault is what the demo reports; the counters tell the rest.
  void fault(std::string text) {
    if (result_.first_fault.empty()) {
      result_.first_fault = std::move(text);
    }
  }

  Status start_cluster() {
    step("start {} nodes on loopback with {} shards each", kDemoNodes, options_.shards);
    detail("{}", result_.device_reason);
    detail("TLS 1.3 on every port, with certificates of this run; nodes share a secret");
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(cluster_.start());
    detail("ready after {:.0f} ms", milliseconds_since(began));
    GCOORD_TRY(client_, cluster_.connect());
    GCOORD_TRY(const auto led, wait_all_led(*client_, began, cluster_.all_led(kRunTimes.start)));
    GCOORD_TRY(const auto status, node_status(*client_, 1));
    result_.nodes = kDemoNodes;
    result_.shards = JsonMembers(status).number<std::uint32_t>("shards");
    result_.stepper = status.value("stepper", std::string{});
    result_.turn = status.value("turn", std::string{});
    result_.durability = status.value("durability", std::string{});
    result_.tls = reaches_all_over_tls(status);
    if (!result_.tls) {
      fault("node 1 does not reach every other node over TLS");
    }
    result_.start_ms = static_cast<double>(led.count());
    detail("all shards have a leader after {} ms", led.count());
    return Status{};
  }

  Status start_workers() {
    step(
        "load: {} client processes, {} requests at once in each, for {:.0f} s: lock, wait, "
        "release, expiry",
        options_.clients,
        options_.lanes,
        std::chrono::duration<double>(options_.length).count());
    GCOORD_TRY_STATUS(cluster_.load(workers_, options_.length));
    load_began_ = Clock::now();
    return Status{};
  }

  Status kill_one() {
    if (!interrupt_.wait_until(load_began_ + options_.length * 2 / 5)) {
      return interrupted();
    }
    const auto ids = cluster_.all_led({}).node_ids;
    GCOORD_TRY(const auto leaders, leader_counts(*client_, ids));
    const auto most = std::max_element(leaders.begin(), leaders.end());
    result_.kill.node = ids[static_cast<std::size_t>(most - leaders.begin())];
    result_.kill.leaders = *most;
    step("kill -9 of node {}, which leads {} shards", result_.kill.node, *most);
    const auto began = Clock::now();
    cluster_.nodes().kill(result_.kill.node);
    GCOORD_TRY(const auto led, wait_all_led(*client_, began, cluster_.all_led(kFailoverTimeout)));
    result_.kill.failover_ms = static_cast<double>(led.count());
    detail("all shards have a leader again after {} ms", led.count());
    return Status{};
  }

  Status restart_it() {
    if (!interrupt_.wait_until(load_began_ + options_.length * 3 / 5)) {
      return interrupted();
    }
    step("start node {} again with its data", result_.kill.node);
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(cluster_.nodes().spawn(result_.kill.node));
    GCOORD_TRY_STATUS(cluster_.nodes().wait_ready(result_.kill.node, kRunTimes.start));
    result_.kill.restart_ms = milliseconds_since(began);
    detail("node is ready after {:.0f} ms", result_.kill.restart_ms);
    return options_.durability == "memory" ? await_votes(began) : Status{};
  }

  // Memory mode: the node has forgotten everything and is re-admitted shard by shard.
  Status await_votes(Clock::time_point began) {
    const auto latest = began + kReadmitTimeout;
    do {
      if (!interrupt_.wait_until(Clock::now() + kVotesPoll)) {
        return interrupted();
      }
      const auto status = node_status(*client_, result_.kill.node);
      const Json memory = status.ok() ? status.value()["memory"] : Json{};
      if (JsonMembers(memory).number<std::uint32_t>("voting") == options_.shards) {
        result_.kill.readmit_ms = milliseconds_since(began);
        detail("node votes in every shard again after {:.0f} ms", result_.kill.readmit_ms);
        return Status{};
      }
    } while (Clock::now() < latest);
    fault("the node that restarted without its memory was not re-admitted everywhere");
    return Status{};
  }

  Status await_workers() {
    if (!interrupt_.wait_until(load_began_ + options_.length)) {
      return interrupted();
    }
    result_.load.seconds = std::chrono::duration<double>(options_.length).count();
    return workers_.await_ends(kWorkerEnd);
  }

  Status judge_history() {
    GCOORD_TRY(History history, cluster_.history());
    summarize_history(history.operations, result_);
    step("check {} operations; then acquire every name once more", history.operations.size());
    GCOORD_TRY(SweepResult sweep, sweep_names(*client_, history.operations, kRunTimes.sweep));
    for (Operation& operation : sweep.operations) {
      history.operations.push_back(std::move(operation));
    }
    const CheckSummary summary = check_run(history, {}, {});
    summarize_checks(summary, result_);
    result_.verdict.names_stuck = sweep.stuck.size();
    result_.verdict.lost_acks += sweep.stuck.size();
    if (summary.verdict == Verdict::Violation) {
      fault(summary.first_finding());
    } else if (summary.verdict != Verdict::Ok) {
      fault("the check of the history did not finish:\n" + to_text(summary));
    }
    if (!sweep.stuck.empty()) {
      fault("nobody could take " + sweep.stuck.front() + " although its holders are gone");
    }
    if (result_.load.grants == 0 || result_.load.waited_grants == 0 || result_.load.expiries == 0) {
      fault("the load has no locks, waits or expiries, so it shows nothing");
    }
    detail("{} violations, {} double grants, {} lost acknowledgements, {} undecided",
           result_.verdict.violations,
           result_.verdict.double_grants,
           result_.verdict.lost_acks,
           result_.verdict.undecided);
    return Status{};
  }

  Status compare_all_replicas() {
    step("compare the replicas of every shard");
    GCOORD_TRY(const auto agreement, compare_replicas(*client_, cluster_.all_led(kRunTimes.agree)));
    result_.shards_compared = agreement.shards_compared;
    result_.shards_different = agreement.shards_different + agreement.shards_behind;
    result_.roots_agree = agreement.agree() && agreement.shards_compared == options_.shards;
    if (!result_.roots_agree) {
      fault(fmt::format("replicas differ in {} shards and lag in {}, first in shard {}",
                        agreement.shards_different,
                        agreement.shards_behind,
                        agreement.first_different));
    }
    detail("{} shards on {} nodes: {}",
           agreement.shards_compared,
           cluster_.all_led({}).node_ids.size(),
           result_.roots_agree ? "equal" : "NOT equal");
    return Status{};
  }

  Status fill_node_table() {
    for (const std::uint32_t id : cluster_.all_led({}).node_ids) {
      GCOORD_TRY(const auto status, node_status(*client_, id));
      GCOORD_TRY(const auto usage, resource_usage(cluster_.nodes().pid(id)));
      result_.node_rows.push_back(
          {.node_id = id,
           .client_address = cluster_.nodes().endpoints()[id - 1],
           .leaders = JsonMembers(status).number<std::uint32_t>("leaders"),
           .resident_mib = static_cast<double>(usage.resident_bytes) / (1024.0 * 1024.0),
           .cpu_seconds = std::chrono::duration<double>(usage.cpu).count(),
           .incarnation = JsonMembers(status).number<std::uint32_t>("incarnation"),
           .stepper = status.value("stepper", std::string{})});
    }
    return Status{};
  }

  const DemoOptions& options_;
  DemoCluster cluster_;
  Interrupt interrupt_;
  std::unique_ptr<client::Client> client_;
  ClientProcesses workers_;
  Clock::time_point load_began_;
  std::uint32_t step_count_ = 0;
  DemoResult result_;
};

}  // namespace

Result<DemoResult> run_demo(const DemoOptions& options) {
  GCOORD_TRY(auto scratch, ScratchDirectory::make(options.directory, "gcoord-demo"));
  GCOORD_TRY(auto ways, pick_ways({options.turn, options.device}, kDemoNodes, devices_here()));
  if (ways.size() > 1) {
    std::printf("0. try %zu ways to run the nodes, each for %.0f s of load\n",
                ways.size(),
                std::chrono::duration<double>(kWayTrial).count());
    std::fflush(stdout);
  }
  GCOORD_TRY(const DemoWay way, fastest_way(std::move(ways), [&](const DemoWay& each) {
               return try_way(options, each, scratch.path());
             }));
  GCOORD_TRY(auto cluster, DemoCluster::plan(options, way, scratch.path()));
  Demo demo{options, scratch.path(), way, std::move(cluster)};
  auto result = demo.run();
  demo.stop();
  const bool cancelled = !result.ok() && result.status().code() == StatusCode::Cancelled;
  const bool failed = !cancelled && (!result.ok() || !result.value().passed());
  if (options.keep || failed) {
    scratch.keep();
    std::printf("   kept: %s\n", scratch.path().c_str());
  }
  return result;
}

}  // namespace gcoord::chaos
