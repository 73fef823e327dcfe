#include "netcore/probe/probe_run.h"

#include "netcore/device/cuda_check.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace gcoord::netcore {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

std::uint32_t limit_ms_of(const ProbeRunOptions& options) {
  const std::uint64_t limit_ms = options.timeout_ns / kNsPerMs + options.margin_ms;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(limit_ms, kMost));
}

}  // namespace

ProbeRun::ProbeRun(const ProbeRunOptions& options)
    : device_(static_cast<int>(options.device)), limit_ms_(limit_ms_of(options)) {}

Result<std::unique_ptr<ProbeRun>> ProbeRun::start(const ProbeRunOptions& options,
                                                  const Launch& launch) {
  std::unique_ptr<ProbeRun> run{new ProbeRun(options)};
  GCOORD_CUDA_TRY(cudaSetDevice(run->device_));
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&run->stream_, cudaStreamNonBlocking));
  GCOORD_CUDA_TRY(cudaHostAlloc(&run->results_, options.result_bytes, cudaHostAllocMapped));
  std::memset(run->results_, 0, options.result_bytes);
  GCOORD_CUDA_TRY(launch(run->stream_, run->results_));
  return run;
}

ProbeRun::~ProbeRun() {
  cudaSetDevice(device_);
  if (stream_ != nullptr) {
    (void)wait();
  }
  if (lost_) {
    return;
  }
  if (stream_ != nullptr) {
    cudaStreamDestroy(stream_);
  }
  cudaFreeHost(results_);
}

bool ProbeRun::done() const {
  return has_ended(stream_);
}

Status ProbeRun::wait() {
  if (lost_) {
    return {StatusCode::DeadlineExceeded, "the kernel of a probe did not end", kDeviceOverrun};
  }
  const Status ended = wait_for_stream(stream_, limit_ms_, "the kernel of a probe");
  lost_ = ended.detail() == kDeviceOverrun;
  return ended;
}

Status ProbeRun::finish() {
  GCOORD_CUDA_TRY(cudaSetDevice(device_));
  return wait();
}

}  // namespace gcoord::netcore
