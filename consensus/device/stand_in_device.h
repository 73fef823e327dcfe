// A device for device_stepper on machines without one: the same batch, stepped in host memory.
//
// For tests, simulations and `--device twin`. Its regions are apart from the host's and poisoned,
// so that what was not copied is missed. Calls pass common/device_calls as those of the CUDA device
// do, in the same order, so faults can be injected at each of them. One thread.
#pragma once

#include "common/device/device_calls.h"
#include "common/device/device_errors.h"
#include "common/tables/column_arena.h"
#include "consensus/device/step_device.h"

#include <cstring>
#include <memory>
#include <string>

namespace gcoord::consensus {

class StandInDevice final : public StepDevice {
 public:
  // What a test looks at while the stepper owns the device.
  struct Watch {
    std::uint64_t calls = 0;
    std::uint64_t launches = 0;
    std::size_t staged_bytes = 0;  // Of the last launch.
    std::size_t stepped_bytes = 0;
    std::uint32_t pools = 0;  // That replaced the first one.
    // What the test says: a pool larger than this finds no room.
    std::size_t pool_bytes_max = ~std::size_t{0};
  };

  explicit StandInDevice(DeviceFaultPlan plan = {}, Watch* watch = nullptr)
      : calls_(plan), watch_(watch) {}

  ~StandInDevice() override { note(); }

  Result<StepMemory> allocate(const StepMemorySizes& sizes) override {
    GCOORD_TRY_STATUS(calls_.make("allocating device memory", [] { return Status{}; }));
    rows_ = std::make_unique<ColumnArena>(sizes.rows);
    pool_ = std::make_unique<ColumnArena>(sizes.pool);
    StepMemory memory;
    memory.rows = rows_->column<std::byte>(sizes.rows);
    memory.pool = pool_->column<std::byte>(sizes.pool);
    memory.staged_host = region(staged_host_, sizes.staged);
    memory.staged_device = region(staged_device_, sizes.staged);
    memory.stepped_host = region(stepped_host_, sizes.stepped);
    memory.stepped_device = region(stepped_device_, sizes.stepped);
    memory.pushed_host = region(pushed_, sizes.pushed);
    memory.pushed_device = memory.pushed_host;
    memory_ = memory;
    return memory;
  }

  Result<PoolRegion> replace_pool(const PoolSizes& sizes) override {
    PoolRegion made;
    GCOORD_TRY_STATUS(calls_.make("allocating a pool", [&] {
      const std::size_t most = watch_ != nullptr ? watch_->pool_bytes_max : sizes.wanted;
      made.bytes = sizes.wanted <= most ? sizes.wanted : sizes.needed;
      if (made.bytes > most) {
        return Status{StatusCode::ResourceExhausted, "no room for the pool", kDeviceMemory};
      }
      made.start = region(pool_, made.bytes);
      ++pools_;
      return Status{};
    }));
    note();
    return made;
  }

  Status upload(void* to, const void* from, std::size_t bytes) override {
    const Status uploaded = calls_.make("uploading the columns", [&] {
      std::memcpy(to, from, bytes);
      return Status{};
    });
    note();
    return uploaded;
  }

  Status step(const StepCall& call) override {
    const Status stepped = run(call);
    note();
    if (watch_ != nullptr) {
      watch_->staged_bytes = call.staged_bytes;
      watch_->stepped_bytes = call.stepped_bytes;
    }
    return stepped;
  }

  Status sweep(const SweepCall& call) override {
    const Status swept = look(call);
    note();
    return swept;
  }

  void inject(DeviceFaultPlan plan) override { calls_.inject(plan); }

  // A bit of a row flips here and now, between two calls; the seed names it.
  void flip_now(std::uint64_t seed) { flip_stored_bit(stepped_table_, seed); }

  std::string name() const override { return "twin"; }

  std::string product() const override { return "memory of the host"; }

  std::uint64_t launches() const override { return calls_.launches(); }

 private:
  static constexpr int kPoison = 0xa5;

  static std::byte* region(std::unique_ptr<ColumnArena>& arena, std::size_t bytes) {
    arena = std::make_unique<ColumnArena>(ColumnArena::bytes_for<std::byte>(bytes));
    std::byte* start = arena->column<std::byte>(bytes);
    std::memset(start, kPoison, bytes);
    return start;
  }

  Status run(const StepCall& call) {
    stepped_table_ = call.table;
    GCOORD_TRY_STATUS(calls_.make("copying a batch to the device", [&] {
      std::memset(memory_.staged_device, kPoison, staged_before_);
      std::memcpy(memory_.staged_device, memory_.staged_host, call.staged_bytes);
      staged_before_ = call.staged_bytes;
      return Status{};
    }));
    DeviceFaultPlan::Kind fault = DeviceFaultPlan::Kind::None;
    GCOORD_TRY_STATUS(calls_.make("launching a batch", [&] {
      fault = calls_.begin_launch();
      if (fault == DeviceFaultPlan::Kind::Flip) {
        flip_stored_bit(call.table, calls_.launches());
      }
      for (std::uint32_t k = 0; k < call.batch.count; ++k) {
        step_staged(call.table, call.batch, k, call.input);
      }
      return Status{};
    }));
    GCOORD_TRY_STATUS(calls_.make("copying a batch to the host", [&] {
      std::memcpy(memory_.stepped_host, memory_.stepped_device, call.stepped_bytes);
      return Status{};
    }));
    return calls_.make("a batch of steps", [&] {
      return fault == DeviceFaultPlan::Kind::Hang
                 ? Status{StatusCode::DeadlineExceeded, "it did not end", kDeviceOverrun}
                 : Status{};
    });
  }

  Status look(const SweepCall& call) {
    GCOORD_TRY_STATUS(calls_.make("launching a sweep", [&] {
      if (calls_.begin_look() == DeviceFaultPlan::Kind::Flip) {
        flip_stored_bit(call.table, calls_.launches() + 1);
      }
      for (std::uint32_t k = 0; k < call.row_count; ++k) {
        sweep_row(call, k);
      }
      return Status{};
    }));
    GCOORD_TRY_STATUS(calls_.make("copying a sweep to the host", [&] {
      std::memcpy(memory_.stepped_host, call.digests, call.row_count * sizeof(std::uint64_t));
      return Status{};
    }));
    return calls_.make("a sweep", [] { return Status{}; });
  }

  void note() {
    if (watch_ != nullptr) {
      watch_->calls = calls_.made();
      watch_->launches = calls_.launches();
      watch_->pools = pools_;
    }
  }

  DeviceCalls calls_;
  Watch* watch_;
  StepMemory memory_;
  PackedTable stepped_table_;      // As the last launch had it.
  std::size_t staged_before_ = 0;  // By the last launch; the rest is poisoned still.
  std::uint32_t pools_ = 0;
  std::unique_ptr<ColumnArena> rows_;
  std::unique_ptr<ColumnArena> pool_;
  std::unique_ptr<ColumnArena> staged_host_;
  std::unique_ptr<ColumnArena> staged_device_;
  std::unique_ptr<ColumnArena> stepped_host_;
  std::unique_ptr<ColumnArena> stepped_device_;
  std::unique_ptr<ColumnArena> pushed_;
};

}  // namespace gcoord::consensus
