// The load of a run under faults: client processes that keep to a rate and write histories
// (worker.h), and the verdict of every checker over them and the traces of the nodes.
//
// The processes end with this object. Talks on stdout. One thread.
#pragma once

#include "chaos/check/checks.h"
#include "chaos/check/history_file.h"
#include "chaos/process/client_processes.h"
#include "chaos/process/local_cluster.h"
#include "common/host/child_process.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct CheckedLoadOptions {
  std::vector<std::string> worker_command;  // What runs run_worker, without its arguments.
  std::filesystem::path directory;          // Of histories, of the log, of the guarded store.
  std::uint32_t clients = 4;                // Client processes.
  std::uint32_t rate = 1500;                // Operations a second that they ask for together.
  std::uint64_t seed = 1;
  std::chrono::milliseconds length{60'000};
  std::chrono::milliseconds session_ttl{5000};
};

class CheckedLoad {
 public:
  explicit CheckedLoad(CheckedLoadOptions options);

  // The endpoints of client process `number`, from 1.
  using EndpointsOf = std::function<std::vector<std::string>(std::uint32_t number)>;

  // Returns when every client process may be relied on.
  Status start(const EndpointsOf& endpoints_of);

  Status start(const std::vector<std::string>& endpoints) {
    return start([&endpoints](std::uint32_t) { return endpoints; });
  }

  // Aborted: one of them did not end well, or not within 90 s.
  Status await_ends() { return workers_.await_ends(std::chrono::seconds{90}); }

  // Adds what all of them wrote.
  Status read(History& histories) const;

  std::vector<ChildProcess>& each() { return workers_.each(); }

 private:
  std::filesystem::path history_file(std::uint32_t worker) const;

  CheckedLoadOptions options_;
  ClientProcesses workers_;
};

// Every checker over the histories, and over the traces of all lives of the cluster's nodes.
Result<CheckSummary> judge_run(const LocalCluster& cluster, const History& histories);

}  // namespace gcoord::chaos
