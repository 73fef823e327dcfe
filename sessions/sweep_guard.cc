#include "sessions/sweep_guard.h"

#include <optional>
#include <string_view>
#include <utility>

namespace gcoord::sessions {
namespace {

class GuardedSweepDevice final : public SweepDevice {
 public:
  GuardedSweepDevice(std::unique_ptr<SweepDevice> device, DeviceFaultPlan plan)
      : device_(std::move(device)), calls_(plan) {}

  Result<SweepMemory> reserve(std::size_t bytes) override {
    return take("reserving memory for sweeps", [&] { return device_->reserve(bytes); });
  }

  Result<SweepMemory> reserve_shared(std::size_t bytes) override {
    return take("reserving memory that both reach", [&] { return device_->reserve_shared(bytes); });
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return calls_.make("copying to the device for a sweep",
                       [&] { return device_->copy_in(to, from, bytes); });
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return calls_.make("copying a sweep to the host",
                       [&] { return device_->copy_out(to, from, bytes); });
  }

  Status renew(const RenewBatch& batch) override {
    return launch("renewing sessions", [&] { return device_->renew(batch); });
  }

  Status scan_due(const DueScan& scan) override {
    return launch("scanning for expired sessions", [&] { return device_->scan_due(scan); });
  }

  Status take_due(const DueTake& take) override {
    return launch("collecting expired sessions", [&] { return device_->take_due(take); });
  }

  Status begin_graph(const WaitGraph& graph) override {
    return launch("counting waits", [&] { return device_->begin_graph(graph); });
  }

  Status prune_graph(const WaitGraph& graph) override {
    return launch("reducing the wait graph", [&] { return device_->prune_graph(graph); });
  }

  Status find_cycles(const WaitGraph& graph) override {
    return launch("following waits", [&] { return device_->find_cycles(graph); });
  }

 private:
  // Of a loop that is to overrun its limit nothing is made: it would not have come back in time.
  template <typename Loop>
  Status launch(std::string_view what, const Loop& loop) {
    return calls_.make(what, [&] {
      return calls_.begin_launch() == DeviceFaultPlan::Kind::Hang
                 ? Status{StatusCode::DeadlineExceeded,
                          std::string(what) + ": injected overrun",
                          kDeviceOverrun}
                 : loop();
    });
  }

  template <typename Reserve>
  Result<SweepMemory> take(std::string_view what, const Reserve& reserve) {
    std::optional<Result<SweepMemory>> taken;
    GCOORD_TRY_STATUS(calls_.make(what, [&] {
      taken.emplace(reserve());
      const bool full = taken->status().code() == StatusCode::ResourceExhausted;
      return full ? Status{} : taken->status();
    }));
    return std::move(*taken);
  }

  std::unique_ptr<SweepDevice> device_;
  DeviceCalls calls_;
};

}  // namespace

std::unique_ptr<SweepDevice> guard_sweep_device(std::unique_ptr<SweepDevice> device,
                                                DeviceFaultPlan plan) {
  return std::make_unique<GuardedSweepDevice>(std::move(device), plan);
}

}  // namespace gcoord::sessions
