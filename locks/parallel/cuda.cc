#include "locks/parallel/cuda.h"

#include "common/device/cuda_status.h"
#include "common/device/device_arena.h"
#include "common/tables/column_arena.h"
#include "locks/parallel/cuda_launch.h"

#include <cuda_runtime_api.h>

#include <utility>

namespace gcoord::locks {
namespace {

class CudaLockDevice final : public LockDevice {
 public:
  explicit CudaLockDevice(int device) : device_(device) {}

  ~CudaLockDevice() override {
    for (CUevent_st* event : {side_.listed, side_.applied}) {
      if (event != nullptr) {
        cudaEventDestroy(event);
      }
    }
    if (side_.stream != nullptr) {
      cudaStreamDestroy(side_.stream);
    }
  }

  // Before anything else.
  Status open() {
    GCOORD_TRY_STATUS(cuda_status("choosing the device", cudaSetDevice(device_)));
    GCOORD_TRY_STATUS(cuda_status("making a stream",
                                  cudaStreamCreateWithFlags(&side_.stream, cudaStreamNonBlocking)));
    for (CUevent_st** event : {&side_.listed, &side_.applied}) {
      GCOORD_TRY_STATUS(
          cuda_status("making an event", cudaEventCreateWithFlags(event, cudaEventDisableTiming)));
    }
    return {};
  }

  Result<LockMemory> reserve(std::size_t bytes) override {
    const std::size_t whole = DeviceArena::bytes_for<std::byte>(bytes == 0 ? 1 : bytes);
    GCOORD_TRY(auto arena, DeviceArena::make(device_, whole));
    void* start = arena->column<std::byte>(whole);
    return LockMemory(std::shared_ptr<DeviceArena>(std::move(arena)), start);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_device(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_host(to, from, bytes);
  }

  Status copy_within(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_on_device(to, from, bytes);
  }

  std::size_t scratch_bytes(std::uint32_t count_max) override {
    return group_scratch_bytes(count_max);
  }

  Status run(const LockBatch& batch, void* scratch, std::size_t scratch_bytes) override {
    launch_batch(batch, side_, scratch, scratch_bytes);
    return synchronize_device("applying a batch of lock commands");
  }

  Status order_events(const LockBatch& batch,
                      std::uint32_t event_count,
                      std::uint32_t* first_events,
                      LockEvent* ordered,
                      void* scratch,
                      std::size_t scratch_bytes) override {
    launch_order_events(batch, event_count, first_events, ordered, scratch, scratch_bytes);
    return synchronize_device("ordering lock events");
  }

  Status move_ring(const RingMove& move) override {
    launch_move_ring(move);
    return synchronize_device("growing a pool of locks");
  }

  Status index_locks(const LockTables& tables) override {
    launch_index_locks(tables);
    return synchronize_device("indexing locks");
  }

  Status index_sessions(const LockTables& tables) override {
    launch_index_sessions(tables);
    return synchronize_device("indexing sessions");
  }

 private:
  int device_;
  SideStream side_;
};

}  // namespace

Result<std::unique_ptr<LockDevice>> make_cuda_lock_device(int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  auto made = std::make_unique<CudaLockDevice>(device);
  GCOORD_TRY_STATUS(made->open());
  return std::unique_ptr<LockDevice>(std::move(made));
}

}  // namespace gcoord::locks
