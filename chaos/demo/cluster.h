// The demo's cluster: its nodes on loopback, and how they and their clients prove who they are.
//
// Nodes end with the object. One thread.
#pragma once

#include "chaos/check/history_file.h"
#include "chaos/demo/demo.h"
#include "chaos/demo/device_pick.h"
#include "chaos/process/client_processes.h"
#include "chaos/process/cluster_trust.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/local_cluster.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace gcoord::chaos {

inline constexpr std::uint32_t kDemoNodes = 3;

class DemoCluster {
 public:
  // Plans nodes that run `way`, with their directories and certificates in `directory`, which
  // exists; starts nothing. `options` outlives it.
  static Result<DemoCluster> plan(const DemoOptions& options,
                                  const DemoWay& way,
                                  const std::filesystem::path& directory);

  LocalCluster& nodes() { return nodes_.cluster; }

  const LocalCluster& nodes() const { return nodes_.cluster; }

  // Starts all nodes, until each is ready.
  Status start();

  // A client that every node has answered.
  Result<std::unique_ptr<client::Client>> connect() const;

  // What to wait for: every shard is led, as the nodes that run know it.
  AllLedOptions all_led(std::chrono::milliseconds timeout) const;

  // Starts the client processes of the demo's load, for so long, and waits until they are ready.
  Status load(ClientProcesses& workers, std::chrono::milliseconds length) const;

  // What they have written when they are gone, in one history.
  Result<History> history() const;

 private:
  struct Nodes {
    std::filesystem::path directory;
    LocalCluster cluster;
    client::TlsOptions tls;  // Of their clients.
  };

  DemoCluster(const DemoOptions& options, Nodes nodes)
      : options_(options), nodes_(std::move(nodes)) {}

  std::filesystem::path history_file(std::uint32_t worker) const;

  const DemoOptions& options_;
  Nodes nodes_;
};

}  // namespace gcoord::chaos
