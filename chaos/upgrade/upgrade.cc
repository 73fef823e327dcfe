#include "chaos/upgrade/upgrade.h"

#include "chaos/demo/checked_load.h"
#include "chaos/demo/final_sweep.h"
#include "chaos/demo/interrupt.h"
#include "chaos/live/progress.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/run_times.h"
#include "chaos/process/scratch_directory.h"
#include "chaos/random/turn_threads.h"
#include "chaos/upgrade/moves.h"
#include "chaos/upgrade/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kVersionTimeout{10};
// Moves leave calm between them anyway, so the ends need less of it.
constexpr RunTimes kUpgradeTimes{.calm = std::chrono::seconds{3}};
// A node that came back votes again after an election timeout; the next move waits for that.
constexpr std::chrono::milliseconds kCalmBetween{1500};

Result<std::string> version_of(const std::filesystem::path& program) {
  ChildOptions options;
  options.arguments = {program.string(), "--version"};
  options.capture_output = true;
  GCOORD_TRY(auto child, ChildProcess::start(options));
  const auto line = child.read_line(kVersionTimeout);
  if (!line.has_value() || child.wait_for(kVersionTimeout) != 0) {
    return Status{StatusCode::Unavailable, program.string() + " does not say its version"};
  }
  return *line;
}

// Of every node.
std::vector<std::string> arguments_of(const UpgradeOptions& options) {
  std::vector<std::string> list{"--checkpoint-interval", "2s", "--durability", options.durability};
  const std::string device = options.resident && options.device.empty() ? "twin" : options.device;
  if (!device.empty()) {
    list.insert(list.end(), {"--device", device});
  }
  if (options.resident) {
    list.insert(list.end(), {"--turn", "resident", "--resident-peers", options.resident_peers});
  }
  return list;
}

class UpgradeRun {
 public:
  UpgradeRun(const UpgradeOptions& options, const std::filesystem::path& directory)
      : options_(options),
        directory_(directory),
        releases_(options.nodes, Release::Previous),
        load_({.worker_command = options.worker_command,
               .directory = directory,
               .clients = options.clients,
               .rate = options.rate,
               .seed = options.seed,
               .length = options.length}) {}

  ~UpgradeRun() { stop(); }

  UpgradeRun(const UpgradeRun&) = delete;
  UpgradeRun& operator=(const UpgradeRun&) = delete;

  Result<UpgradeResult> run() {
    GCOORD_TRY_STATUS(start_cluster());
    GCOORD_TRY_STATUS(start_workers());
    GCOORD_TRY_STATUS(make_moves());
    GCOORD_TRY_STATUS(await_workers());
    GCOORD_TRY_STATUS(ask_everything_again());
    stop();
    return judge();
  }

 private:
  AllLedOptions all_led(std::chrono::milliseconds timeout) const {
    AllLedOptions all{.shards = options_.shards, .timeout = timeout};
    for (std::uint32_t node = 1; node <= options_.nodes; ++node) {
      all.node_ids.push_back(node);
    }
    return all;
  }

  const std::filesystem::path& program_of(Release release) const {
    return release == Release::This ? options_.gcoordd : options_.previous.gcoordd;
  }

  Status start_cluster() {
    result_.previous = options_.previous.name;
    GCOORD_TRY(result_.previous_version, version_of(options_.previous.gcoordd));
    GCOORD_TRY(result_.this_version, version_of(options_.gcoordd));
    say("start {} nodes of {} ({}) on loopback with {} shards{}",
        options_.nodes,
        result_.previous_version,
        result_.previous,
        options_.shards,
        options_.resident ? ", --turn resident" : "");
    LocalClusterOptions cluster;
    cluster.program = options_.previous.gcoordd;
    cluster.directory = directory_;
    cluster.node_count = options_.nodes;
    cluster.shards = options_.shards;
    cluster.trace = options_.trace;
    cluster.node_arguments = arguments_of(options_);
    GCOORD_TRY(auto planned, LocalCluster::plan(std::move(cluster)));
    cluster_.emplace(std::move(planned));
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(cluster_->start_all(kUpgradeTimes.start));
    client::ClientOptions client;
    client.endpoints = cluster_->endpoints();
    client.client_name = "gcoord-chaos";
    auto connected = client::Client::connect(std::move(client));
    if (!connected.ok()) {
      return from_client(connected.status());
    }
    client_ = std::make_unique<client::Client>(std::move(connected).value());
    if (const auto all = client_->wait_for_all_nodes(kUpgradeTimes.start); !all.ok()) {
      return from_client(all);
    }
    return wait_all_led(*client_, began, all_led(kUpgradeTimes.start)).status();
  }

  Status start_workers() {
    GCOORD_TRY_STATUS(load_.start(cluster_->endpoints()));
    began_ = Clock::now();
    return Status{};
  }

  // Spread over the load.
  Status make_moves() {
    const std::vector<Move> moves = upgrade_moves(options_.nodes, options_.seed);
    const auto space = (options_.length - 2 * kUpgradeTimes.calm) / static_cast<long>(moves.size());
    auto next = began_ + kUpgradeTimes.calm;
    for (const Move& move : moves) {
      GCOORD_TRY_STATUS(rest_until(std::max(next, Clock::now() + kCalmBetween)));
      next += space;
      if (releases_[move.node - 1] != move.to) {
        GCOORD_TRY_STATUS(make(move));
      }
    }
    return rest_until(began_ + options_.length);
  }

  Status make(const Move& move) {
    MoveRecord record{.move = move, .from_ns = history_now_ns()};
    const auto began = Clock::now();
    std::error_code ignored;
    const auto logged = std::filesystem::file_size(cluster_->log_file(move.node), ignored);
    end(move);
    GCOORD_TRY_STATUS(start(move, move.to));
    const Status ready = cluster_->wait_ready(move.node, kUpgradeTimes.start);
    record.ready_ms = milliseconds_since(began);
    if (!ready.ok()) {
      record.refused = refusal_in(log_since(move.node, logged));
      if (move.to == Release::This || record.refused.empty()) {
        return ready;
      }
      GCOORD_TRY_STATUS(start(move, Release::This));
      GCOORD_TRY_STATUS(cluster_->wait_ready(move.node, kUpgradeTimes.start));
    }
    GCOORD_TRY(const auto led, wait_all_led(*client_, began, all_led(kUpgradeTimes.start)));
    if (options_.durability == "memory") {
      GCOORD_TRY_STATUS(
          wait_full_strength(*client_, began, {}, all_led(kUpgradeTimes.start)).status());
    }
    record.led_ms = static_cast<double>(led.count());
    record.until_ns = history_now_ns();
    result_.moves_after_load += Clock::now() > began_ + options_.length ? 1u : 0u;
    say("[{:5.1f} s] node {} {} and {}: ready after {:.0f} ms, every shard led after {:.0f} ms",
        std::chrono::duration<double>(Clock::now() - began_).count(),
        move.node,
        move.killed ? "killed" : "stopped",
        record.refused.empty() ? fmt::format("started with {}", release_name(move.to))
                               : "refused by the previous release (" + record.refused + ")",
        record.ready_ms,
        record.led_ms);
    result_.moves.push_back(std::move(record));
    return Status{};
  }

  void end(const Move& move) {
    if (!move.killed) {
      cluster_->signal(move.node, SIGTERM);
      const auto code = cluster_->wait_exit(move.node, kUpgradeTimes.stop);
      if (code != 0) {
        result_.failures.push_back(
            fmt::format("node {} did not end by itself with exit code 0", move.node));
      }
    }
    cluster_->kill(move.node);
  }

  Status start(const Move& move, Release release) {
    releases_[move.node - 1] = release;
    cluster_->set_program(move.node, program_of(release));
    // Releases before 2026-11-29 do not know the option.
    return cluster_->spawn(move.node,
                           release == Release::This
                               ? turn_threads_of_life(options_.seed, move.node, move.number)
                               : std::vector<std::string>{});
  }

  std::string log_since(std::uint32_t node, std::uintmax_t offset) const {
    std::ifstream log{cluster_->log_file(node)};
    log.seekg(static_cast<std::streamoff>(offset));
    return {std::istreambuf_iterator<char>{log}, {}};
  }

  Status rest_until(Clock::time_point until) const {
    return interrupt_.wait_until(until) ? Status{} : Status{StatusCode::Cancelled, "interrupted"};
  }

  Status await_workers() {
    result_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    return load_.await_ends();
  }

  Status ask_everything_again() {
    GCOORD_TRY_STATUS(load_.read(histories_));
    say("take every name once more, compare all replicas");
    summarize_load(histories_.operations, result_);
    GCOORD_TRY(SweepResult sweep,
               sweep_names(*client_, histories_.operations, kUpgradeTimes.sweep));
    result_.names_stuck = sweep.stuck.size();
    std::move(sweep.operations.begin(),
              sweep.operations.end(),
              std::back_inserter(histories_.operations));
    GCOORD_TRY(result_.agreement, compare_replicas(*client_, all_led(kUpgradeTimes.agree)));
    return Status{};
  }

  void stop() {
    load_.each().clear();
    client_.reset();
    if (cluster_.has_value()) {
      cluster_->stop_all(kUpgradeTimes.stop);
    }
  }

  Result<UpgradeResult> judge() {
    GCOORD_TRY(result_.checks, judge_run(*cluster_, histories_));
    return result_;
  }

  const UpgradeOptions& options_;
  const std::filesystem::path& directory_;
  std::vector<Release> releases_;  // Of node 1, 2 and so on, now.
  Interrupt interrupt_;
  std::optional<LocalCluster> cluster_;
  std::unique_ptr<client::Client> client_;
  CheckedLoad load_;
  Clock::time_point began_;
  History histories_;
  UpgradeResult result_;
};

}  // namespace

int run_upgrade(const UpgradeOptions& options, bool json) {
  std::error_code ignored;
  auto scratch = ScratchDirectory::make(std::filesystem::absolute(options.directory, ignored),
                                        "gcoord-upgrade");
  if (!scratch.ok()) {
    std::fprintf(stderr, "gcoord chaos upgrade: %s\n", scratch.status().to_string().c_str());
    return 1;
  }
  const auto result = UpgradeRun{options, scratch.value().path()}.run();
  const bool passed = result.ok() && result.value().passed();
  if (options.keep || (!passed && result.status().code() != StatusCode::Cancelled)) {
    scratch.value().keep();
    say("kept: {}", scratch.value().path().string());
  }
  if (!result.ok()) {
    std::fprintf(stderr, "gcoord chaos upgrade: %s\n", result.status().to_string().c_str());
    return 1;
  }
  say("{}", to_text(result.value()));
  if (json) {
    say("{}", to_json(result.value(), options.seed).dump());
  }
  return passed ? 0 : 1;
}

}  // namespace gcoord::chaos
