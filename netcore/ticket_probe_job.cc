#include "netcore/ticket_probe_job.h"

#include "netcore/cuda_check.h"

#include <cstring>
#include <utility>

namespace gcoord::netcore {

struct TicketProbeJob::Running {
  ~Running() {
    cudaSetDevice(static_cast<int>(options.device));
    if (stream != nullptr) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    cudaFreeHost(results);
  }

  TicketProbeJobOptions options;
  cudaStream_t stream = nullptr;
  void* results = nullptr;  // Pinned.
};

TicketProbeJob::TicketProbeJob(std::unique_ptr<Running> running) : running_(std::move(running)) {}

TicketProbeJob::~TicketProbeJob() = default;

Result<std::unique_ptr<TicketProbeJob>> TicketProbeJob::start(
    const TicketProbeJobOptions& options) {
  auto running = std::make_unique<Running>();
  running->options = options;
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(options.device)));
  GCOORD_CUDA_TRY(load_ticket_probes());
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&running->stream, cudaStreamNonBlocking));
  const std::size_t bytes = options.work.group_count * sizeof(TicketProbeResult);
  GCOORD_CUDA_TRY(cudaHostAlloc(&running->results, bytes, cudaHostAllocMapped));
  std::memset(running->results, 0, bytes);
  TicketProbeWork work = options.work;
  work.results = static_cast<TicketProbeResult*>(running->results);
  GCOORD_CUDA_TRY(
      launch_ticket_probe(work, {options.scope, options.warps_per_block, running->stream}));
  return std::unique_ptr<TicketProbeJob>{new TicketProbeJob(std::move(running))};
}

bool TicketProbeJob::done() const {
  return cudaStreamQuery(running_->stream) != cudaErrorNotReady;
}

Result<std::vector<TicketProbeResult>> TicketProbeJob::finish() {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(running_->options.device)));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(running_->stream));
  const auto* first = static_cast<const TicketProbeResult*>(running_->results);
  return std::vector<TicketProbeResult>{first, first + running_->options.work.group_count};
}

}  // namespace gcoord::netcore
