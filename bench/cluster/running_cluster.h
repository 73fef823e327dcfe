// Three gcoordd nodes in a fresh directory, all shards led, with a client that watches them.
// Gone with its object. One thread.
#pragma once

#include "bench/cluster/bench_options.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/scratch_directory.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

// "cuda:0,cuda:1": node 1 on the first of them, node 2 on the second, node 3 on the first again.
std::vector<std::string> devices_of_nodes(const std::string& list, std::size_t nodes);

class RunningCluster {
 public:
  static Result<std::unique_ptr<RunningCluster>> start(const BenchOptions& options,
                                                       std::uint32_t shards);

  ~RunningCluster();
  RunningCluster(const RunningCluster&) = delete;
  RunningCluster& operator=(const RunningCluster&) = delete;

  chaos::LocalCluster& nodes() { return nodes_; }

  const chaos::LocalCluster& nodes() const { return nodes_; }

  client::Client& watcher() { return *watcher_; }

  // Waits until every node leads a third of the shards, give or take a tenth of it, and rests then.
  Status await_balance();

  // From the start of the first process until all were ready, and until all shards were led.
  std::chrono::milliseconds ready_after() const { return ready_after_; }

  std::chrono::milliseconds led_after() const { return led_after_; }

  std::vector<std::uint32_t> node_ids() const;

 private:
  RunningCluster(chaos::ScratchDirectory scratch, chaos::LocalCluster nodes);
  Status open(const std::string& cores);

  chaos::ScratchDirectory scratch_;
  chaos::LocalCluster nodes_;
  std::unique_ptr<client::Client> watcher_;
  std::chrono::milliseconds ready_after_{0};
  std::chrono::milliseconds led_after_{0};
};

}  // namespace gcoord::bench
