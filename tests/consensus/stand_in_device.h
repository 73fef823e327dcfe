// A device for device_stepper on machines without one: the same batch, stepped in host memory.
//
// Its regions are apart from the host's and poisoned, so that what was not copied is missed. Calls
// pass common/device_calls as those of the CUDA device do, in the same order, so faults can be
// injected at each of them. One thread.
#pragma once

#include "common/column_arena.h"
#include "common/device_calls.h"
#include "consensus/step_device.h"

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
  };

  explicit StandInDevice(DeviceFaultPlan plan = {}, Watch* watch = nullptr)
      : calls_(plan), watch_(watch) {}

  ~StandInDevice() override { note(); }

  Result<StepMemory> allocate(const StepMemorySizes& sizes) override {
    GCOORD_TRY_STATUS(calls_.make("allocating device memory", [] { return Status{}; }));
    sizes_ = sizes;
    table_ = std::make_unique<ColumnArena>(sizes.table);
    StepMemory memory;
    memory.table = table_->column<std::byte>(sizes.table);
    memory.staged_host = region(staged_host_, sizes.staged);
    memory.staged_device = region(staged_device_, sizes.staged);
    memory.stepped_host = region(stepped_host_, sizes.stepped);
    memory.stepped_device = region(stepped_device_, sizes.stepped);
    memory.pushed_host = region(pushed_, sizes.pushed);
    memory.pushed_device = memory.pushed_host;
    memory_ = memory;
    return memory;
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

  std::string name() const override { return "cuda:0"; }

  std::string product() const override { return "stand-in"; }

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
    GCOORD_TRY_STATUS(calls_.make("copying a batch to the device", [&] {
      std::memset(memory_.staged_device, kPoison, sizes_.staged);
      std::memcpy(memory_.staged_device, memory_.staged_host, call.staged_bytes);
      return Status{};
    }));
    bool hangs = false;
    GCOORD_TRY_STATUS(calls_.make("launching a batch", [&] {
      hangs = calls_.begin_launch();
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
      return hangs ? Status{StatusCode::DeadlineExceeded, "it did not end", kDeviceOverrun}
                   : Status{};
    });
  }

  void note() {
    if (watch_ != nullptr) {
      watch_->calls = calls_.made();
      watch_->launches = calls_.launches();
    }
  }

  DeviceCalls calls_;
  Watch* watch_;
  StepMemorySizes sizes_;
  StepMemory memory_;
  std::unique_ptr<ColumnArena> table_;
  std::unique_ptr<ColumnArena> staged_host_;
  std::unique_ptr<ColumnArena> staged_device_;
  std::unique_ptr<ColumnArena> stepped_host_;
  std::unique_ptr<ColumnArena> stepped_device_;
  std::unique_ptr<ColumnArena> pushed_;
};

}  // namespace gcoord::consensus
