// A probe's kernel that runs beside the caller: a stream of its own, and results that come back
// through page-locked memory. What the jobs of probes have in common (channel_probe_job.h,
// ticket_probe_job.h, poll_probe_job.h).
//
// No wait is without a limit: a probe ends at its timeout, so a kernel that runs for
// kProbeMarginMs longer belongs to a device that is dead. After that nothing is given back, since
// the device may still write there; only the end of the process frees it. CUDA builds only; host
// only, one thread per object.
#pragma once

#include "common/status.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord::netcore {

// For a device that others share in slices of time, and for loading the kernel.
inline constexpr std::uint32_t kProbeMarginMs = 30'000;

struct ProbeRunOptions {
  std::uint32_t device = 0;
  std::size_t result_bytes = 0;
  std::uint64_t timeout_ns = 0;  // The probe's own, after which it ends by itself.
  std::uint32_t margin_ms = kProbeMarginMs;
};

class ProbeRun {
 public:
  // Enqueues on the stream; `results` are zeros, and visible to the device.
  using Launch = std::function<cudaError_t(cudaStream_t stream, void* results)>;

  // Takes the memory on the device, and launches. ResourceExhausted, Unavailable or Internal, as
  // CUDA says.
  static Result<std::unique_ptr<ProbeRun>> start(const ProbeRunOptions& options,
                                                 const Launch& launch);
  // Waits for the kernel, as finish().
  ~ProbeRun();
  ProbeRun(const ProbeRun&) = delete;
  ProbeRun& operator=(const ProbeRun&) = delete;

  // Has the kernel ended? Never waits.
  bool done() const;

  // Waits for the kernel; its results then lie at results(). DeadlineExceeded (kDeviceOverrun): it
  // did not end in time. Any other failure is CUDA's. The context is not to be trusted after one.
  Status finish();

  const void* results() const { return results_; }

 private:
  explicit ProbeRun(const ProbeRunOptions& options);
  Status wait();

  int device_;
  std::uint32_t limit_ms_;
  bool lost_ = false;  // A wait ended without the kernel.
  cudaStream_t stream_ = nullptr;
  void* results_ = nullptr;  // Pinned.
};

}  // namespace gcoord::netcore
