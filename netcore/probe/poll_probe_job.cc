#include "netcore/probe/poll_probe_job.h"

#include "netcore/device/cuda_check.h"
#include "netcore/probe/channel_probe_kernels.h"
#include "netcore/probe/poll_probe_kernels.h"

#include <cstddef>
#include <utility>

namespace gcoord::netcore {

Result<std::unique_ptr<PollProbeJob>> PollProbeJob::start(const PollProbeJobOptions& options) {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(options.device)));
  GCOORD_CUDA_TRY(load_poll_probes());
  GCOORD_CUDA_TRY(load_probes());  // Who sends beside it would be loaded behind it.
  const std::uint64_t rounds =
      options.kind == PollProbeKind::Ping ? options.work.probe.slot_count : 0;
  const auto launch = [&options](cudaStream_t stream, void* results) {
    PollProbeWork work = options.work;
    work.result = static_cast<PollProbeResult*>(results);
    work.round_trip_ns = reinterpret_cast<std::uint32_t*>(work.result + work.group_count);
    return launch_poll_probe(options.kind, work, stream);
  };
  const std::uint32_t groups = options.work.group_count;
  const std::size_t bytes = groups * sizeof(PollProbeResult) + rounds * sizeof(std::uint32_t);
  GCOORD_TRY(auto run,
             ProbeRun::start({.device = options.device,
                              .result_bytes = bytes,
                              .timeout_ns = options.work.probe.timeout_ns},
                             launch));
  return std::unique_ptr<PollProbeJob>{new PollProbeJob(std::move(run), groups, rounds)};
}

Result<PollProbeResult> PollProbeJob::finish() {
  GCOORD_TRY_STATUS(run_->finish());
  const auto* results = static_cast<const PollProbeResult*>(run_->results());
  PollProbeResult sum = results[0];
  for (std::uint32_t group = 1; group < group_count_; ++group) {
    sum.slots += results[group].slots;
    sum.wrong_words += results[group].wrong_words;
    sum.status = sum.status == WaitStatus::Ready ? results[group].status : sum.status;
  }
  return sum;
}

std::vector<std::uint32_t> PollProbeJob::round_trips() const {
  const auto* result = static_cast<const PollProbeResult*>(run_->results());
  const auto* first = reinterpret_cast<const std::uint32_t*>(result + group_count_);
  return {first, first + round_count_};
}

}  // namespace gcoord::netcore
