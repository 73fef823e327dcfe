// A probe of a ticket lock that runs on a device beside the caller: start it, do something else,
// finish it.
//
// As probe_run.h, and an end at the probe's deadline at the latest. CUDA builds only; host only,
// one thread per job.
#pragma once

#include "common/status.h"
#include "netcore/probe/probe_run.h"
#include "netcore/probe/ticket_probe.h"
#include "netcore/probe/ticket_probe_kernels.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::netcore {

struct TicketProbeJobOptions {
  std::uint32_t device = 0;
  TicketProbeWork work;  // Its `results` are set by the job.
  TicketScope scope = TicketScope::System;
  std::uint32_t warps_per_block = 1;
};

class TicketProbeJob {
 public:
  // Allocates its results and launches. ResourceExhausted, Unavailable or Internal, as CUDA says.
  static Result<std::unique_ptr<TicketProbeJob>> start(const TicketProbeJobOptions& options);
  // Waits for the kernel.
  ~TicketProbeJob();
  TicketProbeJob(const TicketProbeJob&) = delete;
  TicketProbeJob& operator=(const TicketProbeJob&) = delete;

  // Has the kernel ended? Never waits.
  bool done() const;

  // Waits for the kernel; then the results of all groups. Failures as
  // ProbeRun::finish().
  Result<std::vector<TicketProbeResult>> finish();

 private:
  TicketProbeJob(std::unique_ptr<ProbeRun> run, std::uint32_t group_count);

  std::unique_ptr<ProbeRun> run_;
  std::uint32_t group_count_;
};

}  // namespace gcoord::netcore
