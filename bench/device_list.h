// The one or two devices that a benchmark of devices is told to run on, by name.
#pragma once

#include "common/status.h"
#include "netcore/gpu_device.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::bench {

// "cuda:0,cuda:1" -> 0, 1. What nobody named ("cpu") is cuda:0: between devices there is no other.
// InvalidArgument for anything else.
inline Result<std::vector<std::uint32_t>> listed_devices(const std::string& text) {
  if (text == "cpu") {
    return std::vector<std::uint32_t>{0};
  }
  std::vector<std::uint32_t> devices;
  std::istringstream names{text};
  for (std::string name; std::getline(names, name, ',');) {
    GCOORD_TRY(const std::uint32_t device, netcore::parse_gpu_name(name));
    devices.push_back(device);
  }
  if (devices.empty() || devices.size() > 2) {
    return Status{StatusCode::InvalidArgument, "name one or two devices: --device cuda:0,cuda:1"};
  }
  return devices;
}

}  // namespace gcoord::bench
