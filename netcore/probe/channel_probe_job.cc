#include "netcore/probe/channel_probe_job.h"

#include "netcore/device/cuda_check.h"
#include "netcore/probe/channel_probe_kernels.h"

#include <cstddef>
#include <utility>

namespace gcoord::netcore {

Result<std::unique_ptr<ProbeJob>> ProbeJob::start(const ProbeJobOptions& options) {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(options.device)));
  GCOORD_CUDA_TRY(load_probes());
  const std::uint64_t rounds = options.kind == ProbeKind::Ping ? options.probe.slot_count : 0;
  const auto launch = [&options](cudaStream_t stream, void* results) {
    ProbeWork work;
    work.kind = options.kind;
    work.channel = options.channel;
    work.probe = options.probe;
    work.lane_count = options.lane_count;
    work.results = static_cast<ProbeResult*>(results);
    work.round_trip_ns = reinterpret_cast<std::uint32_t*>(work.results + options.lane_count);
    return launch_probe(work, {options.warps_per_block, stream});
  };
  const std::size_t bytes =
      options.lane_count * sizeof(ProbeResult) + rounds * sizeof(std::uint32_t);
  GCOORD_TRY(
      auto run,
      ProbeRun::start(
          {.device = options.device, .result_bytes = bytes, .timeout_ns = options.probe.timeout_ns},
          launch));
  return std::unique_ptr<ProbeJob>{new ProbeJob(std::move(run), options.lane_count, rounds)};
}

Result<std::vector<ProbeResult>> ProbeJob::finish() {
  GCOORD_TRY_STATUS(run_->finish());
  const auto* first = static_cast<const ProbeResult*>(run_->results());
  return std::vector<ProbeResult>{first, first + lane_count_};
}

std::vector<std::uint32_t> ProbeJob::round_trips() const {
  const auto* results = static_cast<const ProbeResult*>(run_->results());
  const auto* first = reinterpret_cast<const std::uint32_t*>(results + lane_count_);
  return {first, first + round_count_};
}

}  // namespace gcoord::netcore
