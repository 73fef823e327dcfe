// Targets of fault injection: the nodes, the links between them, their disks and clocks, and the
// clients. Made by live.cc; lent to each fault. One thread.
#pragma once

#include "chaos/check/history_file.h"
#include "chaos/live/link_proxies.h"
#include "chaos/live/shim_page.h"
#include "chaos/process/local_cluster.h"
#include "chaos/random/draw.h"
#include "common/host/child_process.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct LiveWorld {
  LocalCluster& cluster;
  LinkProxies& proxies;
  std::vector<std::unique_ptr<ShimPage>>& shims;  // That of node 1 first.
  client::Client& client;
  HistoryWriter& history;                     // Of what faults do as clients.
  std::vector<ChildProcess>& clients;         // The client processes under load.
  std::vector<std::string> attacker_command;  // What attacks shared memory.
  std::filesystem::path program;              // gcoordd.
  std::filesystem::path library;              // The shim.
  std::chrono::milliseconds session_ttl;      // Of the clients' sessions.
  std::vector<std::uint32_t> claimed;         // In the strike that is under way.
  std::vector<std::uint32_t> may_end;         // In the same: nodes that a fault may make end.

  std::uint32_t node_count() const { return cluster.node_count(); }

  // So many may be out of order at once.
  std::uint32_t minority() const { return (node_count() - 1) / 2; }

  ShimPage& shim(std::uint32_t node) { return *shims[node - 1]; }

  // Whether the process runs now.
  bool alive(std::uint32_t node);

  // Starts them all, then waits until each serves. Those that run are left alone.
  Status start(const std::vector<std::uint32_t>& nodes);

  // So many nodes, or as many as are left, whose directories are this fault's alone until the
  // strike is over; at least one is.
  std::vector<std::uint32_t> claim(Draw& draw, std::uint32_t count);

  // SIGTERM, and SIGKILL if that takes too long.
  void stop(std::uint32_t node);
};

}  // namespace gcoord::chaos
