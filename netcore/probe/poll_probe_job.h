// A probe of a poll set that runs on a device beside the caller: start it, do something else,
// finish it.
//
// As probe_run.h, and an end at the probe's deadline at the latest. CUDA builds only; host only,
// one thread per job.
#pragma once

#include "common/status.h"
#include "netcore/probe/poll_probe.h"
#include "netcore/probe/probe_run.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::netcore {

struct PollProbeJobOptions {
  std::uint32_t device = 0;
  PollProbeKind kind = PollProbeKind::Receive;
  PollProbeWork work;  // Its result and round trips are set by the job.
};

class PollProbeJob {
 public:
  // Allocates its results and launches. ResourceExhausted, Unavailable or Internal, as CUDA says.
  static Result<std::unique_ptr<PollProbeJob>> start(const PollProbeJobOptions& options);

  // Has the kernel ended? Never waits.
  bool done() const { return run_->done(); }

  // Waits for the kernel; then its result, of several groups the sums.
  Result<PollProbeResult> finish();

  // After finish() of Ping: its round trips in nanoseconds.
  std::vector<std::uint32_t> round_trips() const;

 private:
  PollProbeJob(std::unique_ptr<ProbeRun> run, std::uint32_t groups, std::uint64_t rounds)
      : run_(std::move(run)), group_count_(groups), round_count_(rounds) {}

  std::unique_ptr<ProbeRun> run_;  // Its results: one of each group, then the round trips.
  std::uint32_t group_count_;
  std::uint64_t round_count_;
};

}  // namespace gcoord::netcore
