// A SweepDevice that stops for good at its first failure, and fails where a test wants it to.
//
// Every call of the device behind it passes common/device/device_calls.h, as those of a stepper do:
// they are counted, the first failure is kept, none is made after it, and a fault plan makes the
// nth call fail or the nth loop overrun its limit. A device that only has no memory left
// (ResourceExhausted) has not failed. Over make_host_sweep_device() it is the stand-in of a GPU, in
// tests, simulations and with `--device twin`. Host only; one thread.
#pragma once

#include "common/device/device_calls.h"
#include "sessions/sweep_device.h"

#include <memory>

namespace gcoord::sessions {

std::unique_ptr<SweepDevice> guard_sweep_device(std::unique_ptr<SweepDevice> device,
                                                DeviceFaultPlan plan);

}  // namespace gcoord::sessions
