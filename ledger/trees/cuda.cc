#include "ledger/trees/cuda.h"

#include "common/device/device_arena.h"
#include "ledger/trees/launch.h"

namespace gcoord::ledger {
namespace {

class CudaMerkleDevice final : public MerkleDevice {
 public:
  explicit CudaMerkleDevice(int device) : device_(device) {}

  Result<std::byte*> reserve(std::size_t bytes, std::size_t /*dense_bytes*/) override {
    GCOORD_TRY(arena_, DeviceArena::make(device_, bytes));
    return arena_->column<std::byte>(bytes);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_device(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy_bytes_to_host(to, from, bytes);
  }

  // A thread launches on the device that it chose itself, and turns come from any thread.
  Status append(const MerkleTurn& turn) override {
    GCOORD_TRY_STATUS(probe_device(device_));
    launch_append(turn);
    return synchronize_device("appending to Merkle trees");
  }

  Status fold_roots(const MerkleTurn& turn, Sha256Words* roots) override {
    GCOORD_TRY_STATUS(probe_device(device_));
    launch_roots(turn, roots);
    return synchronize_device("folding the roots of Merkle trees");
  }

 private:
  int device_;
  std::unique_ptr<DeviceArena> arena_;
};

}  // namespace

Result<std::unique_ptr<MerkleDevice>> make_cuda_merkle_device(int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  GCOORD_TRY_STATUS(prepare_device_copies());
  return std::unique_ptr<MerkleDevice>(std::make_unique<CudaMerkleDevice>(device));
}

}  // namespace gcoord::ledger
