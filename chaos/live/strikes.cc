#include "chaos/live/strikes.h"

#include "chaos/live/progress.h"
#include "chaos/process/run_times.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace gcoord::chaos {

namespace {

// gcoordd's default.
constexpr std::chrono::milliseconds kElection{1000};
constexpr std::chrono::milliseconds kLedBound = 3 * kElection;
constexpr std::chrono::milliseconds kFullBound{30'000};

// When a run gives up waiting.
constexpr std::chrono::milliseconds kLedTimeout{30'000};
constexpr std::chrono::milliseconds kFullTimeout{90'000};

double in_ms(std::chrono::milliseconds duration) {
  return static_cast<double>(duration.count());
}

std::uint64_t in_ns(std::chrono::nanoseconds duration) {
  return static_cast<std::uint64_t>(duration.count());
}

}  // namespace

Strikes::Strikes(LiveWorld world, const StrikeOptions& options, LiveResult& result)
    : world_(std::move(world)), options_(options), result_(result) {
  result_.led.bound_ms = in_ms(kLedBound);
  result_.full.bound_ms = in_ms(kFullBound);
}

Status Strikes::strike(const std::vector<std::size_t>& which, std::uint32_t number) {
  Struck struck;
  world_.claimed.clear();
  world_.may_end.clear();
  for (std::size_t i = 0; i < which.size(); ++i) {
    inject(which[i], Draw{options_.seed, number * 4 + i}, number, struck);
  }
  if (!options_.interrupt.wait_until(Clock::now() + struck.hold)) {
    return Status{StatusCode::Cancelled, "interrupted"};
  }
  const auto healing = Clock::now();
  for (std::size_t i = which.size(); i-- > 0;) {
    heal(*struck.faults[i], result_.strikes[struck.records[i]]);
    result_.tallies[which[i]].felt += struck.faults[i]->felt();
  }
  GCOORD_TRY_STATUS(await_leaders(struck.records));
  await_full_strength(which.front(), struck.records, healing);
  return Status{};
}

void Strikes::inject(std::size_t index, Draw draw, std::uint32_t number, Struck& struck) {
  const FaultClass& chosen = options_.classes[index];
  StrikeRecord record{
      .number = number, .fault = std::string{chosen.name}, .from_ns = history_now_ns()};
  struck.faults.push_back(chosen.make());
  auto injected = struck.faults.back()->inject(world_, draw);
  record.what = injected.ok() ? injected.value() : injected.status().to_string();
  if (!injected.ok()) {
    fail(record, injected.status());
  }
  const std::chrono::duration<double> since = Clock::now() - options_.began;
  say("{:>6.1f} s  {:<18} {}", since.count(), record.fault, record.what);
  struck.hold = std::max(struck.hold, struck.faults.back()->hold(draw));
  struck.records.push_back(result_.strikes.size());
  result_.strikes.push_back(std::move(record));
  ++result_.tallies[index].injected;
}

void Strikes::heal(Fault& fault, StrikeRecord& record) {
  auto healed = fault.heal(world_);
  if (healed.ok()) {
    record.outcome = healed.value();
  } else {
    fail(record, healed.status());
  }
  if (!record.outcome.empty()) {
    say("          {:<18} {}", "", record.outcome);
  }
}

void Strikes::fail(StrikeRecord& record, const Status& status) {
  record.outcome = status.to_string();
  result_.failures.push_back(fmt::format(
      "strike {} ({}, {}): {}", record.number, record.fault, record.what, record.outcome));
}

std::vector<std::uint32_t> Strikes::all_nodes() const {
  std::vector<std::uint32_t> nodes(world_.node_count());
  std::iota(nodes.begin(), nodes.end(), 1u);
  return nodes;
}

// What the run promises after each healing: a leader everywhere, soon. A node that lost what it had
// is silent while it is opened anew.
Status Strikes::await_leaders(const Records& records) {
  const auto healed = Clock::now();
  const std::uint64_t healed_ns = history_now_ns();
  StrikeRecord& first = result_.strikes[records.front()];
  const AllLedOptions asked{.node_ids = all_nodes(),
                            .may_be_silent = world_.cluster.rejoining(),
                            .shards = world_.cluster.shards(),
                            .timeout = kLedTimeout};
  const auto led = wait_all_led(world_.client, healed, asked);
  const double led_ms = in_ms(led.ok() ? led.value() : kLedTimeout);
  if (!led.ok()) {
    fail(first, led.status());
  }
  result_.led.worst_ms = std::max(result_.led.worst_ms, led_ms);
  result_.led.late += led_ms > result_.led.bound_ms ? 1u : 0u;
  GCOORD_TRY_STATUS(restart_the_fallen(first));
  const std::uint64_t over_ns = std::max(history_now_ns(), healed_ns) + in_ns(kElection);
  for (const std::size_t index : records) {
    result_.strikes[index].healed_ns = healed_ns;
    result_.strikes[index].over_ns = over_ns;
    result_.strikes[index].led_after_ms = led_ms;
  }
  return Status{};
}

// A node that should run and does not is a failure of its own, and is started again.
Status Strikes::restart_the_fallen(StrikeRecord& record) {
  LocalCluster& cluster = world_.cluster;
  for (std::uint32_t node = 1; node <= world_.node_count(); ++node) {
    const auto exit = cluster.wait_exit(node, std::chrono::milliseconds{0});
    if (exit.has_value()) {
      fail(record,
           {StatusCode::Aborted, fmt::format("node {} ended by itself with {}", node, *exit)});
      GCOORD_TRY_STATUS(cluster.spawn(node));
      GCOORD_TRY_STATUS(cluster.wait_serving(node, kRunTimes.start));
    }
  }
  return Status{};
}

// Nodes that lost what they had are learners first. While they are, the strike is not over.
void Strikes::await_full_strength(std::size_t index,
                                  const Records& records,
                                  Clock::time_point healing) {
  const auto rejoining = world_.cluster.rejoining();
  if (rejoining.empty()) {
    return;
  }
  StrikeRecord& first = result_.strikes[records.front()];
  const AllLedOptions asked{
      .node_ids = all_nodes(), .shards = world_.cluster.shards(), .timeout = kFullTimeout};
  const auto full = wait_full_strength(world_.client, healing, rejoining, asked);
  if (!full.ok()) {
    fail(first, full.status());
  }
  first.full_after_ms = in_ms(full.ok() ? full.value() : kFullTimeout);
  for (const std::uint32_t node : rejoining) {
    world_.cluster.end_rejoin(node);
    discard_damaged(node);
  }
  for (double* worst : {&result_.tallies[index].full_worst_ms, &result_.full.worst_ms}) {
    *worst = std::max(*worst, first.full_after_ms);
  }
  result_.full.late += first.full_after_ms > result_.full.bound_ms ? 1u : 0u;
  result_.rejoined += static_cast<std::uint32_t>(rejoining.size());
  for (const std::size_t record : records) {
    StrikeRecord& struck = result_.strikes[record];
    struck.over_ns = std::max(struck.over_ns, history_now_ns());
  }
  say("          {:<18} {} at full strength after {:.0f} ms",
      "",
      name_nodes(rejoining),
      first.full_after_ms);
}

// As an operator who replaced the disk, or looked at what it had.
void Strikes::discard_damaged(std::uint32_t node) {
  auto damaged = world_.cluster.data_directory(node);
  std::error_code ignored;
  std::filesystem::remove_all(damaged += ".damaged", ignored);
}

}  // namespace gcoord::chaos
