// The files by which the nodes of a planned cluster and their clients know each other: a CA, a
// certificate for each node and one for the operator, and the secret that the nodes share.
//
// Keys and the secret have mode 0600. Nothing that is there is written over. One thread.
#pragma once

#include "cli/cluster/plan.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gcoord::cli {

// Where the files of a cluster lie, below the folder that they were written to.
struct TrustPaths {
  std::filesystem::path authority;  // ca.crt: what clients are given as --cacert.
  std::filesystem::path revoked;    // ca.crl.
  std::filesystem::path secret;     // cluster.secret.
  std::filesystem::path operator_certificate;
  std::filesystem::path operator_key;
};

TrustPaths trust_paths(const std::filesystem::path& directory);

// What was written for a cluster.
struct WrittenCluster {
  std::vector<std::filesystem::path> configurations;  // By rising id.
  std::vector<std::filesystem::path> others;
};

// The configurations (files.h), and what they name: with `plan.tls` all of the above, with ca/ for
// the CA's own files. All or none. Failures are those of write_configurations(), GC12xx and
// GC312x.
Result<WrittenCluster> write_cluster(const ClusterPlan& plan,
                                     const std::filesystem::path& directory,
                                     std::int64_t now_s);

}  // namespace gcoord::cli
