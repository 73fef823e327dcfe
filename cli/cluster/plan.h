// The plan of a new cluster: which node is where, and the configuration file of each.
//
// A file has the keys of gcoordd's options (server/options). Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "server/platform/endpoint_name.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

// The operator's certificate is of the user of this name.
inline constexpr const char* kOperatorName = "admin";

struct ClusterWishes {
  std::uint32_t nodes = 0;         // 0: one for each host, or three.
  std::vector<std::string> hosts;  // One for each node; empty: all on this machine's loopback.
  std::string name = "gcoord";
  std::uint64_t cluster_id = 0;  // Never 0.
  // Of the first node of each host; the next ones there have the next ports. Peers are 100, metrics
  // 200 and the ledger 300 above. 0: 7401 on loopback, else 7400.
  std::uint32_t client_port = 0;
  std::uint32_t shards = 0;
  // An absolute path. The only node of a host takes it as it is; others, and all on loopback, take
  // a folder node-ID in it.
  std::string data_dir;
  // TLS with certificates on all ports, and a secret by which nodes prove themselves.
  bool tls = false;
  bool insecure = false;  // Beyond loopback nodes only listen with TLS, or if this is true.
  // "optional" or "required"; empty: required beyond loopback, where strangers reach a node.
  std::string client_certificates{};
  bool rights = false;  // Checked from the start, with the operator as the first admin.
  // An absolute path: where a node finds the files of its certificate.
  std::string files_dir{};
};

struct PlannedNode {
  std::uint32_t id = 0;
  server::Endpoint client;
  server::Endpoint peer;
  server::Endpoint metrics;  // On loopback always: strangers have no use for it.
  server::Endpoint ledger;   // On loopback always: read by whoever reaches it.
  std::string data_dir;
};

struct ClusterPlan {
  std::string name;
  std::uint64_t cluster_id = 0;
  std::uint32_t shards = 0;
  bool tls = false;
  bool insecure = false;
  bool certified = false;   // Every client shows a certificate.
  std::string first_admin;  // Empty: rights are off at first.
  std::string files_dir;
  std::vector<PlannedNode> nodes;  // Ids 1, 2 and so on.

  bool on_loopback() const;  // All its nodes.

  // "HOST:PORT,..." of the client addresses.
  std::string endpoints() const;
};

// GC1001 for wishes that no cluster can have, GC1005 for hosts beyond loopback with neither `tls`
// nor `insecure`.
Result<ClusterPlan> plan_cluster(const ClusterWishes& wishes);

// The text of a node's configuration file.
std::string configuration_of(const ClusterPlan& plan, const PlannedNode& node);

}  // namespace gcoord::cli
