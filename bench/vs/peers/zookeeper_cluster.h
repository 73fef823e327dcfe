// Three ZooKeeper servers on loopback, each a Java virtual machine of its own: a durable quorum.
//
// Settings are ZooKeeper's own and those of its manual's example; every transaction is synced
// before it is acknowledged (forceSync, its default). Children of the calling thread, killed with
// their object. One thread.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::bench {

// Flags of the virtual machine and lines of zoo.cfg, without directories and ports.
std::vector<std::string> zookeeper_settings();

// "3.8.0". NotFound when there is no Java, FailedPrecondition when there is no ZooKeeper for it
// (Debian: default-jre-headless and libzookeeper-java).
Result<std::string> zookeeper_version();

class ZookeeperCluster {
 public:
  // Returns when one server leads and all others follow it.
  static Result<ZookeeperCluster> start(const std::filesystem::path& directory);

  // "127.0.0.1:port" of the client ports.
  const std::vector<std::string>& endpoints() const { return endpoints_; }

  // The server that leads, as an index of endpoints().
  std::size_t leader() const { return leader_; }

 private:
  ZookeeperCluster() = default;
  Status await_leader(const std::vector<std::uint16_t>& client_ports);

  std::vector<std::string> endpoints_;
  std::vector<ChildProcess> servers_;
  std::size_t leader_ = 0;
};

}  // namespace gcoord::bench
