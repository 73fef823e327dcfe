// A probe that runs on a device beside the caller: start it, do something else, finish it.
//
// The kernel runs on a stream of its own, so jobs of one process run side by side. finish() waits
// for it, and that ends: at its deadline, when the channel's control word says so, or when all is
// done. Results come back per lane through pinned memory. CUDA builds only; host only, one thread
// per job.
#pragma once

#include "common/status.h"
#include "netcore/probe/channel_probe.h"

#include <cstdint>
#include <memory>
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
  // Waits for the kernel.
  ~ProbeJob();
  ProbeJob(const ProbeJob&) = delete;
  ProbeJob& operator=(const ProbeJob&) = delete;

  // Has the kernel ended? Never waits.
  bool done() const;

  // Waits for the kernel; then the results of all lanes. A failure is CUDA's, and the context is
  // not to be trusted after it.
  Result<std::vector<ProbeResult>> finish();

  // After finish() of Ping: the round trips of lane 0 in nanoseconds.
  std::vector<std::uint32_t> round_trips() const;

 private:
  struct Running;
  explicit ProbeJob(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace gcoord::netcore
