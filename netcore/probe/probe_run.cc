#include "netcore/probe/probe_run.h"

#include "netcore/device/cuda_check.h"

#include <cstring>

namespace gcoord::netcore {

Result<std::unique_ptr<ProbeRun>> ProbeRun::start(std::uint32_t device,
                                                  std::size_t result_bytes,
                                                  const Launch& launch) {
  std::unique_ptr<ProbeRun> run{new ProbeRun(device)};
  GCOORD_CUDA_TRY(cudaSetDevice(run->device_));
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&run->stream_, cudaStreamNonBlocking));
  GCOORD_CUDA_TRY(cudaHostAlloc(&run->results_, result_bytes, cudaHostAllocMapped));
  std::memset(run->results_, 0, result_bytes);
  GCOORD_CUDA_TRY(launch(run->stream_, run->results_));
  return run;
}

ProbeRun::~ProbeRun() {
  cudaSetDevice(device_);
  if (stream_ != nullptr) {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  cudaFreeHost(results_);
}

bool ProbeRun::done() const {
  return has_ended(stream_);
}

Status ProbeRun::finish() {
  GCOORD_CUDA_TRY(cudaSetDevice(device_));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(stream_));
  return {};
}

}  // namespace gcoord::netcore
