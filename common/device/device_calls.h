// The one place that every call of a device stepper to its device passes.
//
// What: counts the calls, remembers the first failure, and makes none after it: once a call has
// failed, nothing in device memory can be trusted, so the owner stops (fail-stop) and builds the
// state anew from the durable log. A fault plan makes the nth call fail, the nth launch overrun its
// deadline, or flips a bit of device memory before the nth launch; it is a door for tests
// (GCOORD_DEVICE_FAULT, docs/reference/devices.md) and the same on a real device and on its
// stand-in. Contract: one thread. Host only; knows no CUDA, so that a build without it tests the
// paths.
#pragma once

#include "common/device/device_errors.h"
#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord {

// Which fault to inject. Numbers count from 1.
struct DeviceFaultPlan {
  enum class Kind : std::uint8_t {
    None,
    Call,  // Call `number` is not made and answers with an error.
    Hang,  // Launch `number` does not end within its deadline.
    Flip,  // Before launch `number` a bit of a row in device memory flips; `number` names which.
  };

  // Whose calls are meant and counted: those of the turn, or those of what a node has done on its
  // device beside it (sessions/sweep_guard.h).
  enum class Part : std::uint8_t { Turn, Sweeps };

  Kind kind = Kind::None;
  std::uint64_t number = 0;
  Part part = Part::Turn;

  // This plan for the part that it means, and none for the other.
  DeviceFaultPlan of(Part wanted) const { return part == wanted ? *this : DeviceFaultPlan{}; }
};

// "call:17", "hang:3" or "flip:5"; "sweep-call:17" or "sweep-hang:3" of sweeps. InvalidArgument,
// with the right spelling, for anything else.
Result<DeviceFaultPlan> parse_device_fault(std::string_view text);

class DeviceCalls {
 public:
  explicit DeviceCalls(DeviceFaultPlan plan = {}) : plan_(plan) {}

  // Makes one call: `call()` returns a Status. `what` names it for the operator, as in "copying a
  // batch to the device". A failure that has no number of its own gets kDeviceFailed.
  template <typename Call>
  Status make(std::string_view what, Call&& call) {
    GCOORD_TRY_STATUS(begin(what));
    return end(std::forward<Call>(call)());
  }

  // Takes notice of a launch, and says what is to befall it: nothing, Hang or Flip.
  DeviceFaultPlan::Kind begin_launch();

  // Takes notice of a look at memory between two launches: Flip if that is what is to happen before
  // the next one, and then it has happened.
  DeviceFaultPlan::Kind begin_look();

  // A plan of which the numbers count from now on, in place of the one so far.
  void inject(DeviceFaultPlan plan);

  // A failure that no call reported: an overrun, a full pool. Returns it.
  Status fail(Status status);

  // Calls made so far, the injected one included.
  std::uint64_t made() const { return made_; }

  std::uint64_t launches() const { return launches_; }

  // OK until the first failure.
  const Status& failure() const { return failure_; }

 private:
  Status begin(std::string_view what);
  Status end(Status status);

  DeviceFaultPlan plan_;  // Its number counts from the first call or launch.
  std::uint64_t made_ = 0;
  std::uint64_t launches_ = 0;
  Status failure_;
};

}  // namespace gcoord
