// A probe that runs on a device beside the caller: start it, do something else, finish it.
//
// As probe_run.h, so jobs of one process run side by side. The kernel ends at its deadline, when
// the channel's control word says so, or when all is done. Results come back per lane. CUDA builds
// only; host only, one thread per job.
#pragma once

#include "common/status.h"
#include "netcore/probe/channel_probe.h"
#include "netcore/probe/probe_run.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::netcore {

struct ProbeJobOptions {
  std::uint32_t device = 0;
  ProbeKind kind = ProbeKind::Send;
  GpuChannelDevice channel;
  ProbeOptions probe;
  std::uint32_t lane_count = 1;  // Lanes 0 to lane_count - 1, a warp each.
  std::uint32_t warps_per_block = 4;
};

class ProbeJob {
 public:
  // Allocates its results and launches. ResourceExhausted, Unavailable or Internal, as CUDA says.
  static Result<std::unique_ptr<ProbeJob>> start(const ProbeJobOptions& options);

  // Has the kernel ended? Never waits.
  bool done() const { return run_->done(); }

  // Waits for the kernel; then the results of all lanes. Failures as ProbeRun::finish().
  Result<std::vector<ProbeResult>> finish();

  // After finish() of Ping: the round trips of lane 0 in nanoseconds.
  std::vector<std::uint32_t> round_trips() const;

 private:
  ProbeJob(std::unique_ptr<ProbeRun> run, std::uint32_t lanes, std::uint64_t rounds)
      : run_(std::move(run)), lane_count_(lanes), round_count_(rounds) {}

  std::unique_ptr<ProbeRun> run_;  // Its results: one of each lane, then the round trips.
  std::uint32_t lane_count_;
  std::uint64_t round_count_;
};

}  // namespace gcoord::netcore
