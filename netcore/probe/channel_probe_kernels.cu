#include "netcore/probe/channel_probe_kernels.h"

#include "common/device/cuda_kernels.h"

namespace gcoord::netcore {
namespace {

// The lane of a warp is the warp's number in the grid.
template <ProbeKind kind>
__global__ void __launch_bounds__(256, 1) probe_kernel(const __grid_constant__ ProbeWork work) {
  const std::uint32_t lane = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (lane < work.lane_count) {
    run_probe<kind>(work, lane);
  }
}

}  // namespace

cudaError_t load_probes() {
  return load_kernels({reinterpret_cast<const void*>(probe_kernel<ProbeKind::Send>),
                       reinterpret_cast<const void*>(probe_kernel<ProbeKind::Receive>),
                       reinterpret_cast<const void*>(probe_kernel<ProbeKind::Ping>),
                       reinterpret_cast<const void*>(probe_kernel<ProbeKind::Pong>)});
}

cudaError_t launch_probe(const ProbeWork& work, const ProbeGrid& grid) {
  const std::uint32_t blocks = (work.lane_count + grid.warps_per_block - 1) / grid.warps_per_block;
  const std::uint32_t threads = grid.warps_per_block * 32;
  switch (work.kind) {
    case ProbeKind::Send:
      probe_kernel<ProbeKind::Send><<<blocks, threads, 0, grid.stream>>>(work);
      break;
    case ProbeKind::Receive:
      probe_kernel<ProbeKind::Receive><<<blocks, threads, 0, grid.stream>>>(work);
      break;
    case ProbeKind::Ping:
      probe_kernel<ProbeKind::Ping><<<blocks, threads, 0, grid.stream>>>(work);
      break;
    case ProbeKind::Pong:
      probe_kernel<ProbeKind::Pong><<<blocks, threads, 0, grid.stream>>>(work);
      break;
  }
  return cudaGetLastError();
}

}  // namespace gcoord::netcore
