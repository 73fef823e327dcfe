// A node that comes into a running cluster by the verbs of an operator, and leaves it again: added
// with a token, joined, active, removed, gone. It has no shim and no proxies of its own; what
// strikes it are the others' faults. One thread.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/host/child_process.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace gcoord::chaos {

class Newcomer {
 public:
  // Into which one it comes, by its client, and with which gcoordd.
  struct Cluster {
    LocalCluster& cluster;
    client::Client& client;
    std::filesystem::path program;
  };

  // `name`: no other node has or had it.
  explicit Newcomer(std::string name) : name_(std::move(name)) {}

  // Invites it and starts its process, which joins as soon as it can. Where the invitation was not
  // answered in time, because of what else is struck, nobody comes: leave() clears that up.
  Status come(const Cluster& cluster);

  // Waits until it is an active voter. Failures: it did not become one in time.
  Status await_active(const Cluster& cluster);

  // Removes it and waits until the cluster calls it gone and its process has ended with the code of
  // a removed node.
  Status leave(const Cluster& cluster);

  // Whether somebody was invited and comes.
  bool comes() const { return process_.has_value(); }

 private:
  std::optional<client::MemberDescription> find(const Cluster& cluster) const;
  Status await_state(const Cluster& cluster, client::MemberState state);

  std::string name_;
  std::optional<ChildProcess> process_;
};

}  // namespace gcoord::chaos
