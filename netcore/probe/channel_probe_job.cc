#include "netcore/probe/channel_probe_job.h"

#include "netcore/device/cuda_check.h"
#include "netcore/probe/channel_probe_kernels.h"

#include <cstring>
#include <utility>

namespace gcoord::netcore {

struct ProbeJob::Running {
  ~Running() {
    cudaSetDevice(static_cast<int>(options.device));
    if (stream != nullptr) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    cudaFreeHost(memory);
  }

  std::size_t result_bytes() const { return options.lane_count * sizeof(ProbeResult); }

  std::size_t round_bytes() const {
    return options.kind == ProbeKind::Ping ? options.probe.slot_count * sizeof(std::uint32_t) : 0;
  }

  ProbeJobOptions options;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;  // Pinned: the results, then the round trips.
};

ProbeJob::ProbeJob(std::unique_ptr<Running> running) : running_(std::move(running)) {}

ProbeJob::~ProbeJob() = default;

Result<std::unique_ptr<ProbeJob>> ProbeJob::start(const ProbeJobOptions& options) {
  auto running = std::make_unique<Running>();
  running->options = options;
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(options.device)));
  GCOORD_CUDA_TRY(load_probes());
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&running->stream, cudaStreamNonBlocking));
  const std::size_t bytes = running->result_bytes() + running->round_bytes();
  GCOORD_CUDA_TRY(cudaHostAlloc(&running->memory, bytes, cudaHostAllocMapped));
  std::memset(running->memory, 0, bytes);
  ProbeWork work;
  work.kind = options.kind;
  work.channel = options.channel;
  work.probe = options.probe;
  work.lane_count = options.lane_count;
  work.results = static_cast<ProbeResult*>(running->memory);
  work.round_trip_ns = reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(running->memory) +
                                                        running->result_bytes());
  GCOORD_CUDA_TRY(launch_probe(work, {options.warps_per_block, running->stream}));
  return std::unique_ptr<ProbeJob>{new ProbeJob(std::move(running))};
}

bool ProbeJob::done() const {
  return has_ended(running_->stream);
}

Result<std::vector<ProbeResult>> ProbeJob::finish() {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(running_->options.device)));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(running_->stream));
  const auto* first = static_cast<const ProbeResult*>(running_->memory);
  return std::vector<ProbeResult>{first, first + running_->options.lane_count};
}

std::vector<std::uint32_t> ProbeJob::round_trips() const {
  const auto* first = reinterpret_cast<const std::uint32_t*>(
      static_cast<const std::byte*>(running_->memory) + running_->result_bytes());
  return {first, first + running_->round_bytes() / sizeof(std::uint32_t)};
}

}  // namespace gcoord::netcore
