#include "locks/lock_cuda.h"

#include "common/column_arena.h"
#include "common/device_arena.h"
#include "locks/lock_cuda_launch.h"

namespace gcoord::locks {
namespace {

class CudaLockDevice final : public LockDevice {
 public:
  explicit CudaLockDevice(int device) : device_(device) {}

  Result<LockMemory> reserve(std::size_t bytes) override {
    const std::size_t whole = ColumnArena::bytes_for<std::byte>(bytes == 0 ? 1 : bytes);
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
    launch_batch(batch, scratch, scratch_bytes);
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
};

}  // namespace

Result<std::unique_ptr<LockDevice>> make_cuda_lock_device(int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  return std::unique_ptr<LockDevice>(std::make_unique<CudaLockDevice>(device));
}

}  // namespace gcoord::locks
