// Device of a resident node and the node on it: its memory, and the driver of its turn.
//
// As the host's turn chooses (device_choice.h): a device that was asked for by name is never
// replaced; `auto` takes the first GPU on which all of the node can be made, and the host's twin
// without one, and says which and why. `twin` is the twin with its calls counted as a GPU's are, so
// that faults can be injected. One thread; opening blocks.
#pragma once

#include "common/device/device_calls.h"
#include "common/status.h"
#include "server/platform/device_choice.h"
#include "server/resident/node/node.h"
#include "server/resident/node/turn.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gcoord::server {

struct ResidentDeviceOptions {
  DeviceChoice device;
  DeviceFaultPlan fault;
  // For tests: the memory of a twin, when set.
  std::function<std::unique_ptr<netcore::MemorySource>()> make_memory;
  ResidentNodeOptions node;
};

struct ResidentDeviceFacts {
  bool on_gpu() const { return !product.empty(); }

  std::string why;          // It is this one: one line for the operator.
  std::string product;      // The GPU's name; empty for the twin.
  std::uint32_t index = 0;  // N of cuda:N.
};

// In the order in which what follows refers to what is before.
struct ResidentDevice {
  ResidentDeviceFacts facts;
  std::unique_ptr<DeviceCalls> calls;
  std::unique_ptr<ResidentNode> node;
  std::unique_ptr<ResidentTurn> turn;  // Not prepared.
};

// Failures are for the operator, with the numbers of device_choice.h.
Result<ResidentDevice> open_resident_device(const ResidentDeviceOptions& options);

}  // namespace gcoord::server
