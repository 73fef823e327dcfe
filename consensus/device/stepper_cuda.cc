#include "consensus/device/stepper_cuda.h"

#include "common/device/cuda_status.h"
#include "common/device/cuda_wait.h"
#include "common/device/staged_copy.h"
#include "consensus/device/device_stepper.h"
#include "consensus/device/stepper_cuda_launch.h"

#include <utility>

namespace gcoord::consensus {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
// The first batch also loads the kernels, which a busy machine may take its time for.
constexpr std::uint32_t kWarmUpLimitMs = 30'000;

class CudaStepDevice final : public StepDevice {
 public:
  explicit CudaStepDevice(const CudaStepperOptions& options)
      : device_(options.device),
        wait_limit_ms_(options.wait_limit_ms),
        clock_us_(options.clock_us),
        calls_(options.fault) {}

  ~CudaStepDevice() override {
    // After a fault the device may be at work still, and freeing would wait for it.
    if (!is_device_fault(calls_.failure().detail())) {
      free_all();
    }
  }

  CudaStepDevice(const CudaStepDevice&) = delete;
  CudaStepDevice& operator=(const CudaStepDevice&) = delete;

  Status open() {
    int count = 0;
    GCOORD_TRY_STATUS(call("counting CUDA devices", [&] { return cudaGetDeviceCount(&count); }));
    if (device_ < 0 || device_ >= count) {
      return calls_.fail(
          {StatusCode::Unavailable,
           "there is no " + name() + " among " + std::to_string(count) + " CUDA devices",
           kDeviceAbsent});
    }
    GCOORD_TRY_STATUS(call("choosing the device", [&] { return cudaSetDevice(device_); }));
    cudaDeviceProp properties{};
    GCOORD_TRY_STATUS(call("reading device properties",
                           [&] { return cudaGetDeviceProperties(&properties, device_); }));
    product_ = properties.name;
    GCOORD_TRY_STATUS(call("making a stream", [&] {
      return cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    }));
    return call("making an event",
                [&] { return cudaEventCreateWithFlags(&done_, cudaEventDisableTiming); });
  }

  Result<StepMemory> allocate(const StepMemorySizes& sizes) override {
    StepMemory memory;
    GCOORD_TRY(device_memory_, device_region(sizes.device_bytes() - sizes.pool));
    GCOORD_TRY(pool_memory_, device_region(sizes.pool));
    GCOORD_TRY(host_memory_, host_region(sizes.staged + sizes.stepped + sizes.pushed));
    void* mapped = nullptr;
    GCOORD_TRY_STATUS(call("mapping host memory",
                           [&] { return cudaHostGetDevicePointer(&mapped, host_memory_, 0); }));
    memory.rows = static_cast<std::byte*>(device_memory_);
    memory.pool = static_cast<std::byte*>(pool_memory_);
    memory.staged_device = memory.rows + sizes.rows;
    memory.stepped_device = memory.staged_device + sizes.staged;
    memory.staged_host = static_cast<std::byte*>(host_memory_);
    memory.stepped_host = memory.staged_host + sizes.staged;
    memory.pushed_host = memory.stepped_host + sizes.stepped;
    memory.pushed_device = static_cast<std::byte*>(mapped) + sizes.staged + sizes.stepped;
    memory_ = memory;
    staged_bytes_ = sizes.staged;
    GCOORD_TRY_STATUS(warm_up());
    return memory;
  }

  Result<PoolRegion> replace_pool(const PoolSizes& sizes) override {
    GCOORD_TRY_STATUS(call("freeing a pool", [&] { return cudaFree(pool_memory_); }));
    pool_memory_ = nullptr;
    PoolRegion made{.bytes = sizes.wanted};
    const Status allocated = call("allocating a pool", [&] {
      const cudaError_t code = taken(cudaMalloc(&pool_memory_, sizes.wanted));
      if (code != cudaErrorMemoryAllocation || sizes.needed == sizes.wanted) {
        return code;
      }
      made.bytes = sizes.needed;
      return cudaMalloc(&pool_memory_, sizes.needed);
    });
    if (allocated.detail() == kDeviceMemory) {
      return without_room(sizes.needed);
    }
    GCOORD_TRY_STATUS(allocated);
    made.start = static_cast<std::byte*>(pool_memory_);
    return made;
  }

  // Through the memory that batches are staged in: there is none under way.
  Status upload(void* to, const void* from, std::size_t bytes) override {
    const StagedCopy staged({memory_.staged_host, staged_bytes_});
    return staged.write(to, from, bytes, [&](void* there, const void* staging, std::size_t piece) {
      GCOORD_TRY_STATUS(call("uploading the columns", [&] {
        return cudaMemcpyAsync(there, staging, piece, cudaMemcpyHostToDevice, stream_);
      }));
      return wait("uploading the columns", kWarmUpLimitMs);
    });
  }

  Status step(const StepCall& batch) override {
    GCOORD_TRY_STATUS(call("copying a batch to the device", [&] {
      return cudaMemcpyAsync(memory_.staged_device,
                             memory_.staged_host,
                             batch.staged_bytes,
                             cudaMemcpyHostToDevice,
                             stream_);
    }));
    GCOORD_TRY_STATUS(launch(batch));
    GCOORD_TRY_STATUS(call("copying a batch to the host", [&] {
      return cudaMemcpyAsync(memory_.stepped_host,
                             memory_.stepped_device,
                             batch.stepped_bytes,
                             cudaMemcpyDeviceToHost,
                             stream_);
    }));
    return wait("a batch of steps", wait_limit_ms_);
  }

  Status sweep(const SweepCall& sweep) override {
    GCOORD_TRY_STATUS(call("launching a sweep", [&] {
      if (calls_.begin_look() == DeviceFaultPlan::Kind::Flip) {
        launch_flip(sweep.table, calls_.launches() + 1, stream_);
      }
      launch_sweep(sweep, stream_);
      return cudaGetLastError();
    }));
    GCOORD_TRY_STATUS(call("copying a sweep to the host", [&] {
      return cudaMemcpyAsync(memory_.stepped_host,
                             sweep.digests,
                             sweep.row_count * sizeof(std::uint64_t),
                             cudaMemcpyDeviceToHost,
                             stream_);
    }));
    return wait("a sweep", wait_limit_ms_);
  }

  void inject(DeviceFaultPlan plan) override { calls_.inject(plan); }

  std::string name() const override { return "cuda:" + std::to_string(device_); }

  std::string product() const override { return product_; }

  std::uint64_t launches() const override { return calls_.launches(); }

 private:
  template <typename Call>
  Status call(std::string_view what, Call&& made) {
    return calls_.make(what,
                       [&] { return cuda_status(name() + ": " + std::string(what), made()); });
  }

  Status launch(const StepCall& batch) {
    return call("launching a batch", [&] {
      const DeviceFaultPlan::Kind fault = calls_.begin_launch();
      if (fault == DeviceFaultPlan::Kind::Hang) {
        launch_hold((wait_limit_ms_ + kHoldMoreMs) * kNsPerMs, stream_);
      } else if (fault == DeviceFaultPlan::Kind::Flip) {
        launch_flip(batch.table, calls_.launches(), stream_);
      }
      launch_staged_steps(batch, stream_);
      return cudaGetLastError();
    });
  }

  // A batch of no rows: nothing is read or written, but everything is loaded.
  Status warm_up() {
    GCOORD_TRY_STATUS(call("loading the kernels", [&] {
      launch_staged_steps(StepCall{.batch = {.count = 0}}, stream_);
      launch_sweep(SweepCall{}, stream_);
      return cudaGetLastError();
    }));
    return wait("loading the kernels", kWarmUpLimitMs);
  }

  Result<void*> device_region(std::size_t bytes) {
    void* region = nullptr;
    const Status made =
        call("allocating device memory", [&] { return cudaMalloc(&region, bytes); });
    if (made.detail() == kDeviceMemory) {
      return without_room(bytes);
    }
    GCOORD_TRY_STATUS(made);
    GCOORD_TRY_STATUS(
        call("zeroing device memory", [&] { return cudaMemsetAsync(region, 0, bytes, stream_); }));
    return region;
  }

  // Says how much there is. The device is fine, only full.
  Status without_room(std::size_t bytes) const {
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    (void)taken(cudaMemGetInfo(&free_bytes, &all_bytes));
    return {StatusCode::ResourceExhausted,
            name() + " has " + std::to_string(free_bytes >> 20) + " MiB free, " +
                std::to_string((bytes >> 20) + 1) + " MiB are needed",
            kDeviceMemory};
  }

  Result<void*> host_region(std::size_t bytes) {
    void* region = nullptr;
    GCOORD_TRY_STATUS(call("allocating page-locked memory",
                           [&] { return cudaHostAlloc(&region, bytes, cudaHostAllocMapped); }));
    return region;
  }

  // Returns when everything asked of the stream so far is done.
  Status wait(std::string_view what, std::uint32_t limit_ms) {
    GCOORD_TRY_STATUS(call(what, [&] { return cudaEventRecord(done_, stream_); }));
    return calls_.make(what, [&] {
      return wait_for_event(
          done_, {.what = name() + ": " + std::string(what), .limit_ms = limit_ms}, clock_us_);
    });
  }

  void free_all() {
    if (host_memory_ != nullptr) {
      (void)cudaFreeHost(host_memory_);
    }
    if (device_memory_ != nullptr) {
      (void)cudaFree(device_memory_);
    }
    if (pool_memory_ != nullptr) {
      (void)cudaFree(pool_memory_);
    }
    if (done_ != nullptr) {
      (void)cudaEventDestroy(done_);
    }
    if (stream_ != nullptr) {
      (void)cudaStreamDestroy(stream_);
    }
  }

  // How much longer than the limit an injected overrun lasts.
  static constexpr std::uint64_t kHoldMoreMs = 500;

  int device_;
  std::uint32_t wait_limit_ms_;
  std::function<std::uint64_t()> clock_us_;
  DeviceCalls calls_;
  std::string product_;
  StepMemory memory_;
  std::size_t staged_bytes_ = 0;
  void* device_memory_ = nullptr;
  void* pool_memory_ = nullptr;
  void* host_memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<StepDevice>> open_cuda_device(const CudaStepperOptions& options) {
  auto device = std::make_unique<CudaStepDevice>(options);
  GCOORD_TRY_STATUS(device->open());
  return std::unique_ptr<StepDevice>{std::move(device)};
}

Result<std::unique_ptr<Stepper>> make_cuda_stepper(const CudaStepperOptions& options) {
  GCOORD_TRY(std::unique_ptr<StepDevice> device, open_cuda_device(options));
  return make_device_stepper(std::move(device),
                             {.row_count = options.row_count,
                              .slot_count = options.slot_count,
                              .check_one_in = options.check_one_in});
}

std::uint32_t cuda_device_count() {
  int count = 0;
  return taken(cudaGetDeviceCount(&count)) == cudaSuccess && count > 0
             ? static_cast<std::uint32_t>(count)
             : 0;
}

}  // namespace gcoord::consensus
