#include "netcore/probe/ticket_probe_job.h"

#include "netcore/device/cuda_check.h"

#include <utility>

namespace gcoord::netcore {

TicketProbeJob::TicketProbeJob(std::unique_ptr<ProbeRun> run, std::uint32_t group_count)
    : run_(std::move(run)), group_count_(group_count) {}

TicketProbeJob::~TicketProbeJob() = default;

Result<std::unique_ptr<TicketProbeJob>> TicketProbeJob::start(
    const TicketProbeJobOptions& options) {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(options.device)));
  GCOORD_CUDA_TRY(load_ticket_probes());
  GCOORD_TRY(
      auto run,
      ProbeRun::start(
          {.device = options.device,
           .result_bytes = options.work.group_count * sizeof(TicketProbeResult),
           .timeout_ns = options.work.probe.timeout_ns},
          [&options](cudaStream_t stream, void* results) {
            TicketProbeWork work = options.work;
            work.results = static_cast<TicketProbeResult*>(results);
            return launch_ticket_probe(work, {options.scope, options.warps_per_block, stream});
          }));
  return std::unique_ptr<TicketProbeJob>{
      new TicketProbeJob(std::move(run), options.work.group_count)};
}

bool TicketProbeJob::done() const {
  return run_->done();
}

Result<std::vector<TicketProbeResult>> TicketProbeJob::finish() {
  GCOORD_TRY_STATUS(run_->finish());
  const auto* first = static_cast<const TicketProbeResult*>(run_->results());
  return std::vector<TicketProbeResult>{first, first + group_count_};
}

}  // namespace gcoord::netcore
