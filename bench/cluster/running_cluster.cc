#include "bench/cluster/running_cluster.h"

#include "bench/cluster/core_set.h"
#include "chaos/process/cluster_watch.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <thread>

namespace gcoord::bench {

namespace {

// For stopping: nodes write nothing then that a benchmark would miss.
constexpr std::chrono::seconds kStopTimeout{10};

constexpr std::chrono::seconds kBalanceTimeout{180};
constexpr std::chrono::milliseconds kBalancePoll{200};

// After the last leader moved: followers know what is decided, memory is given back.
constexpr std::chrono::seconds kRest{3};

// Nodes keep a twentieth more than their share (server/peers/leader_balance.h); a few shards more
// when there are only few.
bool balanced(const std::vector<std::uint32_t>& counts, std::uint32_t shards) {
  const auto share = shards / static_cast<std::uint32_t>(counts.size());
  const std::uint32_t slack = share / 10 + 4;
  return std::all_of(counts.begin(), counts.end(), [share, slack](std::uint32_t count) {
    return count + slack >= share && count <= share + slack;
  });
}

std::vector<std::vector<std::string>> device_arguments(const std::string& list, std::size_t nodes) {
  std::vector<std::vector<std::string>> arguments;
  for (const std::string& device : devices_of_nodes(list, nodes)) {
    arguments.push_back({"--device", device});
  }
  return arguments;
}

}  // namespace

std::vector<std::string> devices_of_nodes(const std::string& list, std::size_t nodes) {
  std::vector<std::string> named;
  std::istringstream stream(list);
  for (std::string device; std::getline(stream, device, ',');) {
    named.push_back(device);
  }
  std::vector<std::string> devices;
  for (std::size_t node = 0; node < nodes && !named.empty(); ++node) {
    devices.push_back(named[node % named.size()]);
  }
  return devices;
}

RunningCluster::RunningCluster(chaos::ScratchDirectory scratch, chaos::LocalCluster nodes)
    : scratch_(std::move(scratch)), nodes_(std::move(nodes)) {}

Result<std::unique_ptr<RunningCluster>> RunningCluster::start(const BenchOptions& options,
                                                              std::uint32_t shards) {
  GCOORD_TRY(auto scratch, chaos::ScratchDirectory::make(options.directory, "gcoord"));
  chaos::LocalClusterOptions cluster;
  cluster.program = options.gcoordd;
  cluster.directory = scratch.path();
  cluster.shards = shards;
  cluster.node_arguments = {
      "--log-level", "warn", "--durability", options.durability, "--turn", options.turn};
  cluster.node_arguments.insert(cluster.node_arguments.end(),
                                {"--tick-ms", std::to_string(options.tick_ms)});
  cluster.arguments_of_node = device_arguments(options.device, cluster.node_count);
  GCOORD_TRY(auto nodes, chaos::LocalCluster::plan(std::move(cluster)));
  std::unique_ptr<RunningCluster> running{new RunningCluster{std::move(scratch), std::move(nodes)}};
  GCOORD_TRY_STATUS(running->open(options.node_cores));
  return running;
}

Status RunningCluster::open(const std::string& cores) {
  const auto began = std::chrono::steady_clock::now();
  {
    GCOORD_TRY(const OnCores there, OnCores::of(cores));
    GCOORD_TRY_STATUS(nodes_.start_all(kStartTimeout));
  }
  ready_after_ = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  client::ClientOptions options;
  options.endpoints = nodes_.endpoints();
  options.client_name = "gcoord-bench-watcher";
  options.wait_for_cluster = true;
  auto connected = client::Client::connect(options);
  if (!connected.ok()) {
    return chaos::from_client(connected.status());
  }
  watcher_ = std::make_unique<client::Client>(std::move(connected).value());
  if (const auto all = watcher_->wait_for_all_nodes(std::chrono::seconds{10}); !all.ok()) {
    return chaos::from_client(all);
  }
  GCOORD_TRY(led_after_,
             chaos::wait_all_led(*watcher_,
                                 began,
                                 {.node_ids = node_ids(),
                                  .shards = nodes_.shards(),
                                  .timeout = kStartTimeout,
                                  .poll_interval = std::chrono::milliseconds{20}}));
  std::fprintf(stderr,
               "  three nodes, %u shards: ready after %lld ms, all led after %lld ms\n",
               nodes_.shards(),
               static_cast<long long>(ready_after_.count()),
               static_cast<long long>(led_after_.count()));
  return Status{};
}

Status RunningCluster::await_balance() {
  const auto until = std::chrono::steady_clock::now() + kBalanceTimeout;
  while (std::chrono::steady_clock::now() < until) {
    GCOORD_TRY(const auto counts, chaos::leader_counts(*watcher_, node_ids()));
    if (balanced(counts, nodes_.shards())) {
      std::this_thread::sleep_for(kRest);
      return Status{};
    }
    std::this_thread::sleep_for(kBalancePoll);
  }
  return Status{StatusCode::DeadlineExceeded, "the nodes did not come to lead an equal share each"};
}

RunningCluster::~RunningCluster() {
  watcher_.reset();
  nodes_.stop_all(kStopTimeout);
}

std::vector<std::uint32_t> RunningCluster::node_ids() const {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 1; id <= nodes_.node_count(); ++id) {
    ids.push_back(id);
  }
  return ids;
}

}  // namespace gcoord::bench
