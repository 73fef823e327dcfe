#include "server/resident/node/device.h"

#include "common/device/device_errors.h"
#include "consensus/device/stepper_cuda.h"
#include "netcore/device/gpu_device.h"
#include "server/platform/device_busy_wait.h"
#include "server/resident/node/counted_memory.h"

#include <utility>

namespace gcoord::server {
namespace {

Result<std::unique_ptr<netcore::MemorySource>> open_gpu_memory(std::uint32_t index,
                                                               std::string& product) {
  auto facts = netcore::gpu_facts(index);
  if (facts.ok()) {
    product = facts.value().name;
    return netcore::make_gpu_memory(index);
  }
  const std::uint32_t other = has_device_turn() ? kDeviceAbsent : kDeviceBuild;
  const bool busy = facts.status().detail() == kDeviceBusy;
  return Status{StatusCode::Unavailable, facts.status().message(), busy ? kDeviceBusy : other};
}

// A device that cannot give the node its memory has too little of it, unless a call failed.
Status node_failure(const Status& status) {
  return is_device_fault(status.detail())
             ? status
             : Status{StatusCode::ResourceExhausted, status.message(), kDeviceMemory};
}

Result<ResidentDevice> open_on_gpu(std::uint32_t index,
                                   const ResidentDeviceOptions& options,
                                   const DeviceBusyWait& patience) {
  ResidentDevice device;
  device.facts.index = index;
  device.calls = std::make_unique<DeviceCalls>(options.fault);
  std::unique_ptr<netcore::MemorySource> memory;
  GCOORD_TRY_STATUS(device.calls->make("opening the device", [&]() -> Status {
    GCOORD_TRY(memory, open_patiently(patience, [&] {
                 return open_gpu_memory(index, device.facts.product);
               }));
    return {};
  }));
  auto node = ResidentNode::make(options.node,
                                 std::make_unique<CountedMemory>(std::move(memory), *device.calls));
  if (!node.ok()) {
    return node_failure(node.status());
  }
  device.node = std::move(node).value();
  GCOORD_TRY(device.turn, make_device_turn(*device.node, index, *device.calls));
  return device;
}

Result<ResidentDevice> open_twin(const ResidentDeviceOptions& options, std::string why) {
  ResidentDevice device;
  device.facts.why = std::move(why);
  device.calls = std::make_unique<DeviceCalls>(options.fault);
  auto memory = options.make_memory ? options.make_memory() : netcore::make_host_memory();
  if (options.device.kind == DeviceChoice::Kind::Twin) {
    memory = std::make_unique<CountedMemory>(std::move(memory), *device.calls);
  }
  auto node = ResidentNode::make(options.node, std::move(memory));
  if (!node.ok()) {
    return explain_device(node.status());
  }
  device.node = std::move(node).value();
  device.turn = make_host_turn(*device.node);
  return device;
}

Result<ResidentDevice> open_named(const ResidentDeviceOptions& options) {
  auto opened = open_on_gpu(options.device.index, options, device_patience());
  if (!opened.ok()) {
    return explain_device(opened.status());
  }
  opened.value().facts.why = "the turn runs on the device, as requested by name";
  return opened;
}

// No device is waited for that another one, or the twin, can stand for.
Result<ResidentDevice> open_any(const ResidentDeviceOptions& options) {
  DeviceBusyWait none = device_patience();
  none.limit = std::chrono::milliseconds{0};
  none.notice = [](const std::string&) {};
  auto opened = open_first(consensus::cuda_device_count(),
                           [&](std::uint32_t index) { return open_on_gpu(index, options, none); });
  if (!opened.ok()) {
    return open_twin(options,
                     "auto: the host emulation (twin) of the resident turn, because " +
                         opened.status().message());
  }
  ResidentDeviceFacts& facts = opened.value().facts;
  facts.why = "auto: the turn runs on cuda:" + std::to_string(facts.index) + " (" + facts.product +
              "), which can be used";
  return opened;
}

}  // namespace

Result<ResidentDevice> open_resident_device(const ResidentDeviceOptions& options) {
  switch (options.device.kind) {
    case DeviceChoice::Kind::Cuda:
      return open_named(options);
    case DeviceChoice::Kind::Auto:
      return open_any(options);
    case DeviceChoice::Kind::Twin:
      return open_twin(
          options,
          "the host emulation (twin) of the resident turn, with its calls counted as a "
          "GPU's: --device twin was requested");
    case DeviceChoice::Kind::Cpu:
      break;
  }
  return open_twin(options,
                   "the host emulation (twin) of the resident turn: --device cpu was requested, or "
                   "is the default");
}

}  // namespace gcoord::server
