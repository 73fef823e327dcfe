#include "netcore/probe/poll_probe_kernels.h"

#include "common/device/cuda_kernels.h"

namespace gcoord::netcore {
namespace {

template <PollProbeKind kind>
__global__ void __launch_bounds__(32, 1)
    poll_probe_kernel(const __grid_constant__ PollProbeWork work) {
  run_poll_probe<kind>(work, blockIdx.x);
}

// A thread in the middle of a warp, so that nothing can count on its neighbours.
__global__ void __launch_bounds__(32, 1)
    poll_alone_kernel(const __grid_constant__ PollProbeWork work) {
  if (threadIdx.x == 5) {
    run_poll_probe<PollProbeKind::WakeAlone>(work);
  }
}

}  // namespace

cudaError_t load_poll_probes() {
  return load_kernels({reinterpret_cast<const void*>(poll_probe_kernel<PollProbeKind::Receive>),
                       reinterpret_cast<const void*>(poll_probe_kernel<PollProbeKind::Ping>),
                       reinterpret_cast<const void*>(poll_probe_kernel<PollProbeKind::Echo>),
                       reinterpret_cast<const void*>(poll_probe_kernel<PollProbeKind::Wake>),
                       reinterpret_cast<const void*>(poll_probe_kernel<PollProbeKind::Tickets>),
                       reinterpret_cast<const void*>(poll_alone_kernel)});
}

cudaError_t launch_poll_probe(PollProbeKind kind, const PollProbeWork& work, cudaStream_t stream) {
  switch (kind) {
    case PollProbeKind::Receive:
      poll_probe_kernel<PollProbeKind::Receive><<<1, 32, 0, stream>>>(work);
      break;
    case PollProbeKind::Ping:
      poll_probe_kernel<PollProbeKind::Ping><<<1, 32, 0, stream>>>(work);
      break;
    case PollProbeKind::Echo:
      poll_probe_kernel<PollProbeKind::Echo><<<1, 32, 0, stream>>>(work);
      break;
    case PollProbeKind::Wake:
      poll_probe_kernel<PollProbeKind::Wake><<<1, 32, 0, stream>>>(work);
      break;
    case PollProbeKind::Tickets:
      poll_probe_kernel<PollProbeKind::Tickets><<<work.group_count, 32, 0, stream>>>(work);
      break;
    case PollProbeKind::WakeAlone:
      poll_alone_kernel<<<1, 32, 0, stream>>>(work);
      break;
  }
  return cudaGetLastError();
}

}  // namespace gcoord::netcore
