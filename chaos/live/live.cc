#include "chaos/live/live.h"

#include "chaos/demo/checked_load.h"
#include "chaos/demo/final_sweep.h"
#include "chaos/demo/interrupt.h"
#include "chaos/live/fault.h"
#include "chaos/live/leader_watch.h"
#include "chaos/live/live_page.h"
#include "chaos/live/live_result.h"
#include "chaos/live/progress.h"
#include "chaos/live/schedule.h"
#include "chaos/live/strikes.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/run_times.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/random/turn_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

// Beside faults there has to be calm, or nothing could be said about it.
constexpr std::uint32_t kCalmMsMin = 2500;
constexpr std::uint32_t kCalmMsMax = 4500;

constexpr std::uint32_t kFeltWithin = 3;  // Injections; one alone may well hit nothing.

constexpr std::chrono::seconds kSessionTtl{5};

class LiveRun {
 public:
  LiveRun(const LiveOptions& options, const std::filesystem::path& directory)
      : options_(options),
        directory_(directory),
        classes_(all_faults(options.place)),
        load_({.worker_command = options.worker_command,
               .directory = directory,
               .clients = options.clients,
               .rate = options.rate,
               .seed = options.seed,
               .length = options.length,
               .session_ttl = kSessionTtl}) {
    for (FaultClass& each : classes_) {
      const auto& asked = options.faults;
      const bool wanted =
          asked.empty() || std::find(asked.begin(), asked.end(), each.name) != asked.end();
      if (!wanted && each.make != nullptr) {
        each.make = nullptr;
        each.skip = "not asked for";
      }
      result_.tallies.push_back({.name = std::string{each.name},
                                 .table = std::string{each.table},
                                 .skip = std::string{each.skip}});
    }
  }

  ~LiveRun() { stop(); }

  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  Result<LiveResult> run() {
    GCOORD_TRY_STATUS(start_cluster());
    GCOORD_TRY_STATUS(start_workers());
    GCOORD_TRY_STATUS(strike_until_the_end());
    GCOORD_TRY_STATUS(await_workers());
    GCOORD_TRY_STATUS(ask_everything_again());
    stop();
    return judge();
  }

 private:
  std::vector<std::uint32_t> node_ids() const {
    std::vector<std::uint32_t> ids(options_.nodes);
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      ids[i] = i + 1;
    }
    return ids;
  }

  AllLedOptions all_led(std::chrono::milliseconds timeout) const {
    return {.node_ids = node_ids(), .shards = options_.shards, .timeout = timeout};
  }

  Status plan_cluster() {
    LocalClusterOptions cluster;
    cluster.program = options_.gcoordd;
    cluster.directory = directory_;
    cluster.node_count = options_.nodes;
    cluster.shards = options_.shards;
    cluster.trace = !options_.place.resident;
    cluster.node_arguments = options_.place.arguments();
    cluster.node_arguments.insert(cluster.node_arguments.end(), {"--checkpoint-interval", "2s"});
    for (const std::uint32_t node : node_ids()) {
      GCOORD_TRY(auto shim, ShimPage::make(directory_, "node-" + std::to_string(node)));
      cluster.environment_of_node.push_back(shim->environment(options_.library));
      shims_.push_back(std::move(shim));
    }
    cluster.arguments_of_life = [seed = options_.seed](auto node, auto life) {
      auto arguments = turn_threads_of_life(seed, node, life);
      arguments.insert(arguments.end(), {"--io-threads", std::to_string((node + life) % 3)});
      return arguments;
    };
    GCOORD_TRY(auto planned, LocalCluster::plan(std::move(cluster)));
    cluster_.emplace(std::move(planned));
    std::vector<std::uint16_t> ports;
    for (const std::uint32_t node : node_ids()) {
      ports.push_back(cluster_->peer_port(node));
    }
    GCOORD_TRY(proxies_, LinkProxies::start(ports, options_.seed));
    cluster_->route_peers([this](auto from, auto to) { return proxies_->port(from, to); });
    return Status{};
  }

  Result<std::unique_ptr<client::Client>> connect(const std::string& name,
                                                  std::chrono::milliseconds request_timeout) const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.client_name = name;
    options.request_timeout = request_timeout;
    auto client = client::Client::connect(options);
    if (!client.ok()) {
      return from_client(client.status());
    }
    return std::make_unique<client::Client>(std::move(client).value());
  }

  Status start_cluster() {
    say("start {} nodes on loopback with {} shards, a proxy on every link, a shim under every disk "
        "and clock",
        options_.nodes,
        options_.shards);
    GCOORD_TRY_STATUS(plan_cluster());
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(cluster_->start_all(kRunTimes.start));
    GCOORD_TRY(client_, connect("gcoord-chaos", std::chrono::seconds{5}));
    GCOORD_TRY(watcher_, connect("gcoord-chaos-watch", std::chrono::milliseconds{700}));
    if (const auto all = client_->wait_for_all_nodes(kRunTimes.start); !all.ok()) {
      return from_client(all);
    }
    GCOORD_TRY(const auto led, wait_all_led(*client_, began, all_led(kRunTimes.start)));
    say("all shards have a leader after {} ms", led.count());
    GCOORD_TRY(history_, HistoryWriter::open(directory_ / "history-nemesis.jsonl"));
    return Status{};
  }

  Status start_workers() {
    GCOORD_TRY_STATUS(load_.start([this](std::uint32_t number) {
      return endpoints_of(*cluster_, options_.client_way, number);
    }));
    began_ = Clock::now();
    result_.began_ns = history_now_ns();
    watch_ = std::make_unique<LeaderWatch>(*watcher_, options_.nodes);
    return Status{};
  }

  Status strike_until_the_end() {
    const auto last = began_ + options_.length - kRunTimes.calm;
    const bool any = std::any_of(classes_.begin(), classes_.end(), [](const FaultClass& each) {
      return each.make != nullptr;
    });
    Schedule schedule{classes_, options_.seed};
    Strikes strikes{
        {.cluster = *cluster_,
         .proxies = *proxies_,
         .shims = shims_,
         .client = *client_,
         .history = *history_,
         .clients = load_.each(),
         .attacker_command = options_.attacker_command,
         .program = options_.gcoordd,
         .library = options_.library,
         .session_ttl = kSessionTtl},
        {.classes = classes_, .seed = options_.seed, .began = began_, .interrupt = interrupt_},
        result_};
    auto until = began_ + kRunTimes.calm;
    for (std::uint32_t number = 1; any && until < last; ++number) {
      GCOORD_TRY_STATUS(rest_until(until));
      GCOORD_TRY_STATUS(strikes.strike(schedule.next(), number));
      Draw draw{options_.seed, number};
      until = Clock::now() + draw.milliseconds(kCalmMsMin, kCalmMsMax);
    }
    return rest_until(began_ + options_.length);
  }

  Status rest_until(Clock::time_point until) {
    return interrupt_.wait_until(until) ? Status{} : Status{StatusCode::Cancelled, "interrupted"};
  }

  Status await_workers() {
    result_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    return load_.await_ends();
  }

  // Everything is healed and nobody asks for anything: every name must be free for the taking, and
  // all replicas of a shard equal.
  Status ask_everything_again() {
    history_->close();
    GCOORD_TRY_STATUS(load_.read(histories_));
    GCOORD_TRY_STATUS(read_history(directory_ / "history-nemesis.jsonl", histories_));
    say("take every name once more, compare all replicas");
    summarize_load(histories_.operations, result_);
    GCOORD_TRY(SweepResult sweep, sweep_names(*client_, histories_.operations, kRunTimes.sweep));
    result_.names_stuck = sweep.stuck.size();
    for (Operation& operation : sweep.operations) {
      histories_.operations.push_back(std::move(operation));
    }
    GCOORD_TRY(result_.agreement, compare_replicas(*client_, all_led(kRunTimes.agree)));
    return Status{};
  }

  void stop() {
    if (watch_ != nullptr) {
      result_.leaders = watch_->take();
      watch_.reset();
    }
    load_.each().clear();
    client_.reset();
    watcher_.reset();
    if (cluster_.has_value()) {
      for (const std::uint32_t node : node_ids()) {
        cluster_->signal(node, SIGCONT);
      }
      cluster_->stop_all(kRunTimes.stop);
    }
  }

  Result<LiveResult> judge() {
    GCOORD_TRY(result_.checks, judge_run(*cluster_, histories_));
    result_.lost = result_.names_stuck;
    for (const CheckReport& report : result_.checks.reports) {
      if (report.invariants == "I8" || report.invariants == "I10") {
        result_.lost += report.violations;
      }
    }
    judge_times();
    judge_injections();
    return result_;
  }

  // A class that strikes again and again and hits nothing shows nothing.
  void judge_injections() {
    for (const FaultTally& tally : result_.tallies) {
      if (tally.injected >= kFeltWithin && tally.felt == 0) {
        result_.failures.push_back(
            fmt::format("{} was injected {} times and never felt", tally.name, tally.injected));
      }
    }
  }

  void judge_times() {
    if (options_.judges_time && result_.full.late > 0) {
      result_.failures.push_back(fmt::format(
          "{} times a node was not at full strength within {:.0f} ms; {:.0f} ms at worst",
          result_.full.late,
          result_.full.bound_ms,
          result_.full.worst_ms));
    }
    if (options_.judges_time && result_.led.late > 0) {
      result_.failures.push_back(fmt::format(
          "{} times not every shard had a leader within {:.0f} ms of healing; {:.0f} ms at worst",
          result_.led.late,
          result_.led.bound_ms,
          result_.led.worst_ms));
    }
  }

  const LiveOptions& options_;
  const std::filesystem::path& directory_;
  std::vector<FaultClass> classes_;
  Interrupt interrupt_;
  std::vector<std::unique_ptr<ShimPage>> shims_;
  std::optional<LocalCluster> cluster_;
  std::unique_ptr<LinkProxies> proxies_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<client::Client> watcher_;
  std::unique_ptr<HistoryWriter> history_;
  CheckedLoad load_;
  std::unique_ptr<LeaderWatch> watch_;
  Clock::time_point began_;
  History histories_;
  LiveResult result_;
};

Result<LiveResult> run_in(const LiveOptions& options, ScratchDirectory& scratch) {
  LiveRun run{options, scratch.path()};
  return run.run();
}

}  // namespace

Status check_fault_names(const std::vector<std::string>& names, const StepPosition& place) {
  const auto classes = all_faults(place);
  for (const std::string& name : names) {
    const auto found = std::find_if(
        classes.begin(), classes.end(), [&](const FaultClass& each) { return each.name == name; });
    if (found == classes.end() || found->make == nullptr) {
      return Status{StatusCode::InvalidArgument,
                    name + (found == classes.end()
                                ? " is no class of fault; --list shows them"
                                : " cannot be injected here: " + std::string{found->skip})};
    }
  }
  return Status{};
}

std::string list_faults(const StepPosition& place) {
  std::string text;
  for (const FaultClass& each : all_faults(place)) {
    text += fmt::format("{:<20} {:<8} {}\n",
                        each.name,
                        each.table,
                        each.make != nullptr ? "" : "SKIPPED: " + std::string{each.skip});
  }
  return text;
}

int run_live(const LiveOptions& options, bool json) {
  // Absolute: the shim knows a node's disk by the names that the node uses.
  std::error_code ignored;
  auto scratch =
      ScratchDirectory::make(std::filesystem::absolute(options.directory, ignored), "gcoord-chaos");
  if (!scratch.ok()) {
    std::fprintf(stderr, "gcoord chaos live: %s\n", scratch.status().to_string().c_str());
    return 1;
  }
  const auto result = run_in(options, scratch.value());
  const bool passed = result.ok() && result.value().passed();
  if (options.keep || (!passed && result.status().code() != StatusCode::Cancelled)) {
    scratch.value().keep();
    say("kept: {}", scratch.value().path().string());
  }
  if (!result.ok()) {
    std::fprintf(stderr, "gcoord chaos live: %s\n", result.status().to_string().c_str());
    return 1;
  }
  say("{}", to_text(result.value()));
  if (!options.report.empty()) {
    std::ofstream{options.report} << live_page(result.value(), options);
    say("report: {}", options.report.string());
  }
  if (json) {
    say("{}", to_json(result.value(), options).dump());
  }
  return passed ? 0 : 1;
}

}  // namespace gcoord::chaos
