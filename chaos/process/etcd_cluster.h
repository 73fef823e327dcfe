// Three etcd processes on loopback, as their packages' defaults have them: the yardstick.
//
// Nothing is tuned against etcd: heartbeats, election timeout, snapshots and fsync are its
// defaults; only its log level is lowered. Children of the calling thread. One thread.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

// TLS on the client ports: paths of PEM files.
struct EtcdTls {
  std::string certificate;
  std::string key;
  std::string authority;             // Of clients.
  bool demands_certificate = false;  // Of clients.
};

class EtcdCluster {
 public:
  // `program` is a path or a name; NotFound when there is no such one in PATH (Debian:
  // etcd-server). The nodes elect in their own time; whoever asks first waits for that.
  static Result<EtcdCluster> start(const std::filesystem::path& directory,
                                   std::uint32_t node_count,
                                   const std::string& program = "etcd");

  // The same with the program in PATH and TLS on the client ports.
  static Result<EtcdCluster> start_secured(const std::filesystem::path& directory,
                                           std::uint32_t node_count,
                                           const EtcdTls& tls);

  // "127.0.0.1:port" of the client ports.
  const std::vector<std::string>& endpoints() const { return endpoints_; }

  std::vector<pid_t> pids() const;

 private:
  struct Program {
    std::string name;
    const EtcdTls* tls = nullptr;  // nullptr: plain text.
  };

  EtcdCluster() = default;

  static Result<EtcdCluster> start_members(const std::filesystem::path& directory,
                                           std::uint32_t node_count,
                                           const Program& program);

  std::vector<std::string> endpoints_;
  std::vector<ChildProcess> nodes_;
};

}  // namespace gcoord::chaos
