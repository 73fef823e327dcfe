// The Stepper over rows in device memory, whatever the device.
//
// What: the state lies in a packed table on the device; inboxes and outboxes are the caller's, on
// the host. A call stages the used parts of the inboxes as one block, has the device step the
// batch, and takes outboxes and rows back: one launch and one wait per batch. The host keeps a
// mirror of all columns for `columns()`, refreshed for the rows that were stepped. What the host
// wrote before the first step (recovery) is taken over then.
// Why under the host's turn: it makes the memory of a device the home of the shards, with the
// protocol bit for bit the CPU's; the way to and from the device costs more than a step, so it is
// not the way to low latency.
// Because the mirror is what the host knows without the device, it also checks the device by it
// (device_check.h).
// The pool of wide rows grows with what it holds: the host knows which rows are wide, and before a
// batch that might find no room it makes a larger pool and fills it from the mirror, so that every
// row keeps its place (docs/adr/0034).
// Contract: not thread-safe. A failure of the device is returned by the step that met it and by
// every later one (stepper.h).
#pragma once

#include "common/status.h"
#include "consensus/device/device_check.h"
#include "consensus/device/step_device.h"
#include "consensus/step/stepper.h"

#include <cstdint>
#include <memory>

namespace gcoord::consensus {

struct DeviceStepperOptions {
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
  // Rows that the first pool of wide rows has room for, besides those of one batch
  // (packed_table.h); 0: one in sixteen. kDeviceExhausted when the device has no memory left for as
  // many as there are.
  std::uint32_t wide_count = 0;
  // One step in so many is done again on the host, and all rows are watched; 0: nothing is checked
  // (device_check.h).
  std::uint32_t check_one_in = kDeviceCheckOneIn;
};

// Fails as StepDevice::allocate does.
Result<std::unique_ptr<Stepper>> make_device_stepper(std::unique_ptr<StepDevice> device,
                                                     const DeviceStepperOptions& options);

}  // namespace gcoord::consensus
