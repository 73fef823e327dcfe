// Certificates and the secret of a cluster on this machine: a CA of its own, a certificate for each
// node and one for a client.
//
// Certificates are for loopback. One thread.
#pragma once

#include "common/status.h"
#include "gcoord/options.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ClusterTrust {
 public:
  struct Wishes {
    std::filesystem::path folder;  // Its parent is there, it is not.
    std::uint32_t node_count = 3;
    std::uint64_t cluster = 0;  // Not 0.
    std::int64_t now_s = 0;     // Unix seconds.
  };

  // Failures: those of certificates::AuthorityFolder and of security::write_new_secret_file.
  static Result<ClusterTrust> make(const Wishes& wishes);

  // Options of gcoordd for TLS on all of its ports: its id of the cluster, files, modes.
  std::vector<std::string> arguments(std::uint32_t node_id) const;

  // How its clients connect.
  client::TlsOptions client() const;

 private:
  explicit ClusterTrust(Wishes wishes) : wishes_(std::move(wishes)) {}

  std::string file(const std::string& name) const { return wishes_.folder / name; }

  Wishes wishes_;
};

}  // namespace gcoord::chaos
