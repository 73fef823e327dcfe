#include "chaos/demo/cluster.h"

#include "chaos/process/run_times.h"
#include "common/comma_list.h"

#include <fmt/format.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

std::int64_t unix_now_s() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

}  // namespace

Result<DemoCluster> DemoCluster::plan(const DemoOptions& options,
                                      const DemoWay& way,
                                      const std::filesystem::path& directory) {
  LocalClusterOptions planned;
  planned.program = options.gcoordd;
  planned.directory = directory;
  planned.node_count = kDemoNodes;
  planned.shards = options.shards;
  GCOORD_TRY(const auto trust,
             ClusterTrust::make({.folder = directory / "tls",
                                 .node_count = kDemoNodes,
                                 .cluster = std::random_device{}() + std::uint64_t{1},
                                 .now_s = unix_now_s()}));
  for (std::uint32_t id = 1; id <= kDemoNodes; ++id) {
    auto arguments = trust.arguments(id);
    arguments.insert(arguments.end(), {"--device", way.devices.device_of_node[id - 1]});
    planned.arguments_of_node.push_back(std::move(arguments));
  }
  planned.node_arguments = {"--durability", options.durability, "--turn", way.turn};
  GCOORD_TRY(auto nodes, LocalCluster::plan(std::move(planned)));
  return DemoCluster{options, {directory, std::move(nodes), trust.client()}};
}

Status DemoCluster::start() {
  return nodes_.cluster.start_all(kRunTimes.start);
}

Result<std::unique_ptr<client::Client>> DemoCluster::connect() const {
  client::ClientOptions client_options;
  client_options.endpoints = nodes_.cluster.endpoints();
  client_options.tls = nodes_.tls;
  client_options.client_name = "gcoord-demo";
  auto client = client::Client::connect(client_options);
  if (!client.ok()) {
    return from_client(client.status());
  }
  auto made = std::make_unique<client::Client>(std::move(client).value());
  if (const auto all = made->wait_for_all_nodes(kRunTimes.start); !all.ok()) {
    return from_client(all);
  }
  return made;
}

AllLedOptions DemoCluster::all_led(std::chrono::milliseconds timeout) const {
  AllLedOptions wanted{.node_ids = {}, .shards = options_.shards, .timeout = timeout};
  for (std::uint32_t id = 1; id <= kDemoNodes; ++id) {
    if (nodes_.cluster.running(id)) {
      wanted.node_ids.push_back(id);
    }
  }
  return wanted;
}

std::filesystem::path DemoCluster::history_file(std::uint32_t worker) const {
  return nodes_.directory / fmt::format("history-{}.jsonl", worker);
}

Status DemoCluster::load(ClientProcesses& workers, std::chrono::milliseconds length) const {
  for (std::uint32_t number = 1; number <= options_.clients; ++number) {
    GCOORD_TRY_STATUS(workers.start({options_.self.string(),
                                     "worker",
                                     "--endpoints",
                                     comma_list(nodes_.cluster.endpoints()),
                                     "--cacert",
                                     nodes_.tls.cacert,
                                     "--cert",
                                     nodes_.tls.cert,
                                     "--key",
                                     nodes_.tls.key,
                                     "--history",
                                     history_file(number).string(),
                                     "--number",
                                     std::to_string(number),
                                     "--lanes",
                                     std::to_string(options_.lanes),
                                     "--seed",
                                     std::to_string(std::random_device{}()),
                                     "--length-ms",
                                     std::to_string(length.count())}));
  }
  return workers.await_ready(kRunTimes.start);
}

Result<History> DemoCluster::history() const {
  History history;
  for (std::uint32_t number = 1; number <= options_.clients; ++number) {
    GCOORD_TRY_STATUS(read_history(history_file(number), history));
  }
  return history;
}

}  // namespace gcoord::chaos
