// The GPU's resident turn: one kernel on a stream of its own, from start() until it is told to
// leave.
#include "netcore/device/cuda_check.h"
#include "server/resident/node/launch.h"
#include "server/resident/node/turn.h"

#include <string>

namespace gcoord::server {
namespace {

// Between two questions whether the kernel still runs: each is a call of the driver.
constexpr std::uint64_t kLookNs = 1'000'000;

// The first rows: a million of them take milliseconds, on a busy machine that also loads kernels.
constexpr std::uint32_t kPrepareMs = 30'000;

// Why a kernel left by itself, by the node's word.
Status why_it_left(std::uint64_t abort_word) {
  if (abort_word == kAbortPoolFull) {
    return {StatusCode::ResourceExhausted,
            "the lock tables of one stripe are full in device memory",
            kDeviceExhausted};
  }
  return {StatusCode::Internal, "the resident kernel ended unexpectedly", kDeviceFailed};
}

class DeviceTurn final : public ResidentTurn {
 public:
  DeviceTurn(ResidentNode& node, std::uint32_t device, DeviceCalls& calls)
      : node_(node),
        kernels_(resident_kernels(node.options().shape.voters)),
        device_(static_cast<int>(device)),
        calls_(calls) {}

  ~DeviceTurn() override {
    constexpr std::uint32_t kPatienceMs = 2000;
    // A kernel that does not leave keeps its stream: the driver would wait for it.
    if (stream_ != nullptr && stop(kPatienceMs).ok()) {
      cudaStreamDestroy(stream_);
    }
  }

  Status prepare() override {
    GCOORD_TRY_STATUS(calls_.make("loading the kernels of the turn", [this] { return load(); }));
    if (node_.restored()) {
      return {};
    }
    return calls_.make("storing the first rows on the device", [this] { return store_rows(); });
  }

  Status start() override {
    // The fault plan's overrun: a kernel that never ran tells nothing, which the node's own probe
    // takes for a kernel that hangs.
    if (calls_.begin_launch() == DeviceFaultPlan::Kind::Hang) {
      hangs_ = true;
      node_.note_started();
      return {};
    }
    return calls_.make("starting the resident kernel", [this]() -> Status {
      GCOORD_CUDA_TRY(kernels_.launch(node_.view(), node_.options().timing, stream_));
      running_ = true;
      rests_ = false;
      node_.note_started();
      return {};
    });
  }

  Result<bool> turn(std::uint64_t now_ns) override {
    if (!running_ || now_ns < next_look_ns_) {
      return false;
    }
    next_look_ns_ = now_ns + kLookNs;
    GCOORD_TRY_STATUS(calls_.make("polling the resident kernel", [this] { return look(); }));
    return false;
  }

  Status stop(std::uint32_t limit_ms) override {
    if (hangs_) {
      return calls_.fail(
          {StatusCode::DeadlineExceeded, "the resident kernel does not end", kDeviceOverrun});
    }
    if (!running_) {
      return {};
    }
    GCOORD_TRY_STATUS(node_.abort());
    const Status left =
        netcore::wait_for_stream(stream_, limit_ms, "the end of the resident kernel");
    if (left.code() == StatusCode::DeadlineExceeded) {
      return calls_.fail(left);
    }
    running_ = false;
    return left;
  }

  bool rests() const override { return rests_; }

  bool needs_calls() const override { return false; }

 private:
  Status load() {
    GCOORD_CUDA_TRY(cudaSetDevice(device_));
    GCOORD_CUDA_TRY(kernels_.load());
    std::uint32_t room = 0;
    GCOORD_CUDA_TRY(kernels_.blocks_max(node_.options().shape.block_stripes, room));
    const std::uint32_t wanted = resident_blocks(node_.options().shape);
    if (wanted > room) {
      return {StatusCode::ResourceExhausted,
              std::to_string(wanted) + " blocks do not fit on the device, which holds " +
                  std::to_string(room) + " at once: give all nodes a smaller --turn-stripes",
              kDeviceMemory};
    }
    GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    return {};
  }

  Status look() {
    const cudaError_t state = taken(cudaStreamQuery(stream_));
    if (state == cudaErrorNotReady) {
      return {};
    }
    GCOORD_CUDA_TRY(state);
    GCOORD_TRY(const std::uint64_t word, node_.abort_word());
    rests_ = asks_for_room(word);
    running_ = !rests_;
    return rests_ ? Status{} : why_it_left(word);
  }

  Status store_rows() {
    GCOORD_CUDA_TRY(kernels_.launch_rows(node_.view(), stream_));
    return netcore::wait_for_stream(stream_, kPrepareMs, "storing the first rows");
  }

  ResidentNode& node_;
  const ResidentKernels& kernels_;
  int device_;
  DeviceCalls& calls_;
  cudaStream_t stream_ = nullptr;
  bool running_ = false;
  bool hangs_ = false;  // By the fault plan, until the node ends.
  bool rests_ = false;
  std::uint64_t next_look_ns_ = 0;
};

}  // namespace

bool has_device_turn() {
  return true;
}

Result<std::unique_ptr<ResidentTurn>> make_device_turn(ResidentNode& node,
                                                       std::uint32_t device,
                                                       DeviceCalls& calls) {
  return std::unique_ptr<ResidentTurn>{std::make_unique<DeviceTurn>(node, device, calls)};
}

}  // namespace gcoord::server
