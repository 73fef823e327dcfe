// The loops of sweep_device.h on a GPU: plain device memory and one kernel per stage.
#include "common/cuda_status.h"
#include "common/device_arena.h"
#include "locks/sweep_cuda_launch.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

namespace gcoord::locks {
namespace {

class CudaSweepDevice final : public SweepDevice {
 public:
  explicit CudaSweepDevice(int device) : device_(device) {}

  Result<SweepMemory> reserve(std::size_t bytes) override {
    const std::size_t whole = DeviceArena::bytes_for<std::byte>(bytes == 0 ? 1 : bytes);
    GCOORD_TRY(auto arena, DeviceArena::make(device_, whole));
    void* start = arena->column<std::byte>(whole);
    return SweepMemory(std::shared_ptr<DeviceArena>(std::move(arena)), start);
  }

  // Page-locked memory of the host, which a device reaches under the same address.
  Result<SweepMemory> reserve_shared(std::size_t bytes) override {
    void* start = nullptr;
    GCOORD_TRY_STATUS(cuda_status("reserving memory that a device reaches",
                                  cudaHostAlloc(&start, bytes, cudaHostAllocMapped)));
    std::memset(start, 0, bytes);
    return SweepMemory(start, [](void* memory) { cudaFreeHost(memory); });
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_device(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_host(to, from, bytes);
  }

  Status renew(const RenewBatch& batch) override {
    launch_renew(batch);
    return synchronize_device("renewing sessions");
  }

  Status scan_due(const DueScan& scan) override {
    launch_scan_due(scan);
    return synchronize_device("looking for sessions that ran out");
  }

  Status take_due(const DueTake& take) override {
    launch_take_due(take);
    return synchronize_device("taking sessions that ran out");
  }

  // No wait: the stages that follow are on the same stream, and end with one.
  Status begin_graph(const WaitGraph& graph) override {
    launch_begin_graph(graph);
    return {};
  }

  Status prune_graph(const WaitGraph& graph) override {
    launch_prune_graph(graph);
    return synchronize_device("thinning out who waits");
  }

  Status find_cycles(const WaitGraph& graph) override {
    launch_find_cycles(graph);
    return synchronize_device("following who waits");
  }

 private:
  int device_;
};

}  // namespace

Result<std::unique_ptr<SweepDevice>> make_cuda_sweep_device(int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  GCOORD_TRY_STATUS(cuda_status("choosing the device", cudaSetDevice(device)));
  return std::unique_ptr<SweepDevice>(std::make_unique<CudaSweepDevice>(device));
}

}  // namespace gcoord::locks
