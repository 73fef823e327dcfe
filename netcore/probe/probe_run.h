// A probe's kernel that runs beside the caller: a stream of its own, and results that come back
// through page-locked memory. What the jobs of probes have in common (ticket_probe_job.h,
// poll_probe_job.h).
//
// CUDA builds only; host only, one thread per object.
#pragma once

#include "common/status.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord::netcore {

class ProbeRun {
 public:
  // Enqueues on the stream; `results` are zeros, and visible to the device.
  using Launch = std::function<cudaError_t(cudaStream_t stream, void* results)>;

  // Takes the memory on `device`, and launches. ResourceExhausted, Unavailable or Internal, as CUDA
  // says.
  static Result<std::unique_ptr<ProbeRun>> start(std::uint32_t device,
                                                 std::size_t result_bytes,
                                                 const Launch& launch);
  // Waits for the kernel.
  ~ProbeRun();
  ProbeRun(const ProbeRun&) = delete;
  ProbeRun& operator=(const ProbeRun&) = delete;

  // Has the kernel ended? Never waits.
  bool done() const;

  // Waits for the kernel; its results then lie at results(). A failure is CUDA's, and the context
  // is not to be trusted after it.
  Status finish();

  const void* results() const { return results_; }

 private:
  explicit ProbeRun(std::uint32_t device) : device_(static_cast<int>(device)) {}

  int device_;
  cudaStream_t stream_ = nullptr;
  void* results_ = nullptr;  // Pinned.
};

}  // namespace gcoord::netcore
