// Power for simulated disks, which can go between any two of their operations.
//
// Disks that share one lose their power at the same moment: those of one machine, or those of all
// machines of a cluster. What a disk forgets then is its own matter (MemoryDisk::lose_power). One
// thread.
#pragma once

#include <cstdint>

namespace gcoord::ledger {

// What a disk was about to do when the power went. Never renumber: counted by place in results.
enum class DiskOperation : std::uint8_t {
  Write = 0,
  Sync = 1,
  SyncDirectory = 2,
  Checkpoint = 3,  // A batch of the checkpoint store, which is one operation here.
  History = 4,     // A batch of the history store, the same.
};

class PowerSupply {
 public:
  // The operation of this number from now on does not happen, and none after it, until restore().
  // 0: power is gone now.
  void cut_after(std::uint64_t operation_count) {
    left_ = operation_count;
    gone_ = operation_count == 0;
  }

  // Called before each operation. False: there is no power for it.
  bool spend(DiskOperation operation) {
    if (gone_) {
      return false;
    }
    if (left_ != kEndless) {
      --left_;
      gone_ = left_ == 0;
      struck_ = operation;
    }
    return !gone_;
  }

  bool gone() const { return gone_; }

  // The operation that power went before; meaningful while gone().
  DiskOperation struck() const { return struck_; }

  void restore() {
    left_ = kEndless;
    gone_ = false;
  }

 private:
  static constexpr std::uint64_t kEndless = ~std::uint64_t{0};

  std::uint64_t left_ = kEndless;
  bool gone_ = false;
  DiskOperation struck_ = DiskOperation::Write;
};

}  // namespace gcoord::ledger
