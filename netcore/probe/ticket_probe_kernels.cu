#include "netcore/probe/ticket_probe_kernels.h"

#include "common/device/cuda_kernels.h"

namespace gcoord::netcore {
namespace {

// The group is the warp's number in the grid.
template <typename Order>
__global__ void __launch_bounds__(1024, 1)
    ticket_probe_kernel(const __grid_constant__ TicketProbeWork work) {
  const std::uint32_t group = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (group < work.group_count) {
    run_ticket_probe<Order>(work, group);
  }
}

}  // namespace

cudaError_t load_ticket_probes() {
  return load_kernels({reinterpret_cast<const void*>(ticket_probe_kernel<SystemOrder>),
                       reinterpret_cast<const void*>(ticket_probe_kernel<DeviceOrder>)});
}

cudaError_t launch_ticket_probe(const TicketProbeWork& work, const TicketProbeGrid& grid) {
  const std::uint32_t blocks = (work.group_count + grid.warps_per_block - 1) / grid.warps_per_block;
  const std::uint32_t threads = grid.warps_per_block * 32;
  if (grid.scope == TicketScope::System) {
    ticket_probe_kernel<SystemOrder><<<blocks, threads, 0, grid.stream>>>(work);
  } else {
    ticket_probe_kernel<DeviceOrder><<<blocks, threads, 0, grid.stream>>>(work);
  }
  return cudaGetLastError();
}

}  // namespace gcoord::netcore
