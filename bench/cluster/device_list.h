// The devices that a benchmark of devices is told to run on, by name.
#pragma once

#include "common/status.h"
#include "netcore/device/gpu_device.h"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::bench {

// "cuda:0,cuda:1" -> 0, 1; two or three of them at most. What nobody named ("cpu") is cuda:0:
// between devices there is no other. InvalidArgument for anything else.
inline Result<std::vector<std::uint32_t>> listed_devices(const std::string& text,
                                                         std::size_t most = 2) {
  if (text == "cpu") {
    return std::vector<std::uint32_t>{0};
  }
  std::vector<std::uint32_t> devices;
  std::istringstream names{text};
  for (std::string name; std::getline(names, name, ',');) {
    GCOORD_TRY(const std::uint32_t device, netcore::parse_gpu_name(name));
    devices.push_back(device);
  }
  if (devices.empty() || devices.size() > most) {
    return Status{StatusCode::InvalidArgument,
                  most == 2 ? "name one or two devices: --device cuda:0,cuda:1"
                            : "name one to three devices: --device cuda:0,cuda:1,cuda:2"};
  }
  return devices;
}

}  // namespace gcoord::bench
