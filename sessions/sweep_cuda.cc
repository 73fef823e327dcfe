// The loops of sweep_device.h on a GPU: plain device memory and one kernel per stage.
//
// On a stream of its own, so that nothing waits for what else runs on the device, and with a limit
// to every wait; so copies go through page-locked memory, kCopyStagingBytes that are there from the
// start (common/device/staged_copy.h). After a failure nothing is given back: the device may still
// be at work there, and freeing would wait for it; only the end of the process frees it.
#include "common/device/cuda_status.h"
#include "common/device/cuda_wait.h"
#include "common/device/device_arena.h"
#include "common/device/staged_copy.h"
#include "sessions/sweep_cuda_launch.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

namespace gcoord::sessions {
namespace {

// The first launch also loads the kernels, which a busy machine may take its time for.
constexpr std::uint32_t kWarmUpLimitMs = 30'000;

class CudaSweepDevice final : public SweepDevice {
 public:
  explicit CudaSweepDevice(int device) : device_(device) {}

  ~CudaSweepDevice() override {
    if (*failed_) {
      return;
    }
    if (done_ != nullptr) {
      (void)cudaEventDestroy(done_);
    }
    if (stream_ != nullptr) {
      (void)cudaStreamDestroy(stream_);
    }
    if (staging_ != nullptr) {
      (void)cudaFreeHost(staging_);
    }
  }

  Status open() {
    GCOORD_TRY_STATUS(call("choosing the device", cudaSetDevice(device_)));
    GCOORD_TRY_STATUS(
        call("making a stream", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)));
    GCOORD_TRY_STATUS(
        call("making an event", cudaEventCreateWithFlags(&done_, cudaEventDisableTiming)));
    GCOORD_TRY_STATUS(call("reserving memory for copies",
                           cudaHostAlloc(&staging_, kCopyStagingBytes, cudaHostAllocDefault)));
    return warm_up();
  }

  // Zeroed on another stream, for which ours does not wait by itself.
  Result<SweepMemory> reserve(std::size_t bytes) override {
    const std::size_t whole = DeviceArena::bytes_for<std::byte>(bytes == 0 ? 1 : bytes);
    auto arena = DeviceArena::make(device_, whole);
    GCOORD_TRY_STATUS(note(arena.status()));
    GCOORD_TRY_STATUS(call("zeroing memory", cudaEventRecord(done_, nullptr)));
    GCOORD_TRY_STATUS(wait_for_done("zeroing memory", kDeviceWaitMs));
    void* start = arena.value()->column<std::byte>(whole);
    return SweepMemory(start, [failed = failed_, owned = arena.value().release()](void* /*start*/) {
      if (!*failed) {
        delete owned;
      }
    });
  }

  // Page-locked memory of the host, which a device reaches under the same address.
  Result<SweepMemory> reserve_shared(std::size_t bytes) override {
    void* start = nullptr;
    GCOORD_TRY_STATUS(call("reserving memory that a device reaches",
                           cudaHostAlloc(&start, bytes, cudaHostAllocMapped)));
    std::memset(start, 0, bytes);
    return SweepMemory(start, [failed = failed_](void* memory) {
      if (!*failed) {
        (void)cudaFreeHost(memory);
      }
    });
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return staged().write(
        to, from, bytes, [this](void* there, const void* staging, std::size_t piece) {
          return copy("copying to the device", there, staging, piece, cudaMemcpyHostToDevice);
        });
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return staged().read(
        to, from, bytes, [this](void* staging, const void* there, std::size_t piece) {
          return copy("copying from the device", staging, there, piece, cudaMemcpyDeviceToHost);
        });
  }

  Status renew(const RenewBatch& batch) override {
    launch_renew(batch, stream_);
    return finish("renewing sessions");
  }

  Status scan_due(const DueScan& scan) override {
    launch_scan_due(scan, stream_);
    return finish("scanning for expired sessions");
  }

  Status take_due(const DueTake& take) override {
    launch_take_due(take, stream_);
    return finish("collecting expired sessions");
  }

  // Waits, too, so that an overrun has the name of who is late.
  Status begin_graph(const WaitGraph& graph) override {
    launch_begin_graph(graph, stream_);
    return finish("counting waits");
  }

  Status prune_graph(const WaitGraph& graph) override {
    launch_prune_graph(graph, stream_);
    return finish("reducing the wait graph");
  }

  Status find_cycles(const WaitGraph& graph) override {
    launch_find_cycles(graph, stream_);
    return finish("following waits");
  }

 private:
  // A device that has no memory left is in order.
  Status note(Status status) {
    *failed_ = *failed_ || (!status.ok() && status.code() != StatusCode::ResourceExhausted);
    return status;
  }

  std::string words(const char* what) const {
    return "cuda:" + std::to_string(device_) + ": " + what;
  }

  Status call(const char* what, cudaError_t error) {
    return error == cudaSuccess ? Status{} : note(cuda_status(words(what), error));
  }

  StagedCopy staged() const {
    return StagedCopy({static_cast<std::byte*>(staging_), kCopyStagingBytes});
  }

  // One of both is `staging_`.
  Status copy(
      const char* what, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    GCOORD_TRY_STATUS(call(what, cudaMemcpyAsync(to, from, bytes, kind, stream_)));
    return wait(what);
  }

  Status wait(const char* what, std::uint32_t limit_ms = kDeviceWaitMs) {
    GCOORD_TRY_STATUS(call(what, cudaEventRecord(done_, stream_)));
    return wait_for_done(what, limit_ms);
  }

  Status wait_for_done(const char* what, std::uint32_t limit_ms) {
    return note(wait_for_event(done_, {.what = words(what), .limit_ms = limit_ms}));
  }

  // Of what was launched just now.
  Status finish(const char* what) {
    GCOORD_TRY_STATUS(call(what, cudaGetLastError()));
    return wait(what);
  }

  // Loops over nothing: nothing is read or written, but all kernels are loaded.
  Status warm_up() {
    launch_nothing(stream_);
    GCOORD_TRY_STATUS(call("loading the kernels of sweeps", cudaGetLastError()));
    return wait("loading the kernels of sweeps", kWarmUpLimitMs);
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  void* staging_ = nullptr;  // Page-locked; of the copy under way.
  // Memory may outlive this.
  std::shared_ptr<bool> failed_ = std::make_shared<bool>(false);
};

}  // namespace

Result<std::unique_ptr<SweepDevice>> make_cuda_sweep_device(int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  auto made = std::make_unique<CudaSweepDevice>(device);
  GCOORD_TRY_STATUS(made->open());
  return std::unique_ptr<SweepDevice>(std::move(made));
}

}  // namespace gcoord::sessions
