// Choice of the device on which a node steps its shards: the operator's request, and the result.
//
// A device that was asked for by name is never replaced: if it cannot be used, the node does not
// start, with one line, a stable number and one fix. `auto` measures the first device that can be
// used beside the CPU (step_trial.h), takes the faster one, and says which and why. One thread.
#pragma once

#include "common/device/device_calls.h"
#include "common/status.h"
#include "consensus/device/device_check.h"
#include "consensus/step/stepper.h"
#include "server/platform/step_trial.h"
#include "sessions/sweep_device.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace gcoord::server {

// --device cpu|auto|cuda:N|twin
struct DeviceChoice {
  enum class Kind : std::uint8_t {
    Cpu,
    Auto,
    Cuda,
    Twin,  // The way of a device over memory of the host (consensus/device/stand_in_device.h): for
           // tests.
  };

  // Whether there is a device to inject faults into for certain.
  bool names_device() const { return kind == Kind::Cuda || kind == Kind::Twin; }

  Kind kind = Kind::Cpu;
  std::uint32_t index = 0;  // N of cuda:N.
};

// InvalidArgument, with what is allowed, for anything else.
Result<DeviceChoice> parse_device_choice(std::string_view text);

struct StepperOptions {
  DeviceChoice device;
  DeviceFaultPlan fault;
  std::uint32_t check_one_in = consensus::kDeviceCheckOneIn;  // --device-check
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
  TrialTurns trial = {};  // Of `auto`.
};

// A stepper, and why it is this one: one line for the operator.
struct ChosenStepper {
  std::unique_ptr<consensus::Stepper> stepper;
  std::string why;
};

// What `open(index)` gives, a Result, of the first of `count` devices that opens; if none does, why
// device 0 does not.
template <typename Open>
auto open_first(std::uint32_t count, const Open& open) -> decltype(open(0u)) {
  auto first = open(0u);
  for (std::uint32_t index = 1; !first.ok() && index < count; ++index) {
    if (auto next = open(index); next.ok()) {
      return next;
    }
  }
  return first;
}

// Opens a device by its index.
using OpenDevice = std::function<Result<std::unique_ptr<consensus::Stepper>>(
    std::uint32_t index, const StepperOptions& options)>;

// What `auto` stands for where there are `count` devices. Blocks for a fraction of a second, unless
// there are none.
ChosenStepper choose_faster(const StepperOptions& options,
                            std::uint32_t count,
                            const OpenDevice& open);

// Failures carry a number of protocol/error_codes.h: DeviceBuild, DeviceAbsent and their
// neighbours.
Result<ChosenStepper> choose_stepper(const StepperOptions& options);

// The same device for sweeps (sessions/sweep_device.h); nothing for a CPU. `Auto` is none: whoever
// opened a stepper knows which device it was.
Result<std::unique_ptr<sessions::SweepDevice>> open_sweep_device(const DeviceChoice& choice);

// A failure of a device as the operator is told it: what it means, the evidence, what to do.
// Statuses about anything else pass unchanged.
Status explain_device(const Status& status);

}  // namespace gcoord::server
