// The work of a node's loop that is done once a second: connections, watches and the operator's log
// hear how the node is; peers are sent what a lost message may have kept from them; leaderships are
// balanced, or given away while the disk is low or the GPU is to be drained; memory is given back;
// the ledger ends a repair.
//
// One thread, the loop's.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "protocol/hello.h"
#include "server/endpoints/frontend.h"
#include "server/gpu_guard/guard.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/replicated_log.h"
#include "server/node/disk_upkeep.h"
#include "server/node/node_log.h"
#include "server/options/options.h"
#include "server/peers/device_links.h"
#include "server/peers/leader_balance.h"
#include "server/peers/leader_relief.h"
#include "server/watch/hub.h"

#include <cstdint>
#include <memory>

namespace gcoord::server {

// Milliseconds between two sweeps; the loop never sleeps longer.
inline constexpr std::uint64_t kSweepMs = 1000;

class Upkeep {
 public:
  // All outlive it, but that the engine may end before.
  struct Environment {
    const NodeOptions& options;
    ReplicatedLog& engine;
    FrontEnd& frontend;
    WatchHub& watches;
    NodeLedger& ledger;
    DeviceLinks& device_links;
    GpuGuard* gpu;  // nullptr: there is no GPU to watch.
    NodeLog& log;
  };

  // `leader_transfers` counts the leaderships that were handed to another node.
  Upkeep(Environment parts, std::unique_ptr<DiskUpkeep> disk, Counter& leader_transfers);
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  // Once per pass of the loop; does nothing until the next second. `now_ms`: of the node's clock,
  // which only grows. While the node is `stopping` it gives no leadership to a peer for balance. A
  // failure, the ledger's, ends the node.
  Status advance(std::uint64_t now_ms, bool stopping);

  // The pass did something: memory that it needed is not given back with the next sweep.
  void on_work() { idle_ = false; }

 private:
  const protocol::Member* find_member(NodeId node) const;  // By the view; nullptr: it has none.
  bool is_witness(NodeId peer) const;
  bool takes_leaders(NodeId peer) const;
  bool drains() const;
  bool look_at_gpu(std::uint64_t now_ms);
  void announce(const NodeView& view);
  void log_device_links();
  void release_memory();

  Environment environment_;
  std::unique_ptr<DiskUpkeep> disk_;
  LeaderBalance balance_;
  LeaderRelief relief_;
  Counter& leader_transfers_;
  std::uint64_t next_sweep_ms_ = 0;
  bool idle_ = true;  // Nothing was done since the last sweep.
};

}  // namespace gcoord::server
