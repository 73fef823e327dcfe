// Waits at a node's start for a device that its last users have not given back yet.
//
// After kill -9 of processes that shared a device, its driver or its MPS server may be busy with
// the dead for some seconds, and says of the device that it is taken (kDeviceBusy). A supervisor
// that starts the node again at once would see it refuse each time, so the node tries again within
// a bound, and says so once. Any other failure, and a device that stays taken, is the caller's.
// Blocks; one thread.
#pragma once

#include "common/device/device_errors.h"
#include "common/status.h"

#include <chrono>
#include <functional>
#include <string>

namespace gcoord::server {

struct DeviceBusyWait {
  // Longer than an MPS server needs to be rid of clients that died (docs/reference/devices.md).
  std::chrono::milliseconds limit{8'000};
  std::chrono::milliseconds between{200};
  std::function<void(std::chrono::milliseconds)> pause;    // Returns after so long.
  std::function<void(const std::string& message)> notice;  // Told once, for the operator.
};

// As a process waits: sleeps, and one line in the log.
DeviceBusyWait device_patience();

// What `open()` gives, a Result, tried again while the device is taken.
template <typename Open>
auto open_patiently(const DeviceBusyWait& patience, const Open& open) -> decltype(open()) {
  std::chrono::milliseconds waited{0};
  for (;;) {
    auto opened = open();
    const bool taken = !opened.ok() && opened.status().detail() == kDeviceBusy;
    if (!taken || waited >= patience.limit) {
      return opened;
    }
    if (waited.count() == 0) {
      patience.notice(opened.status().message());
    }
    patience.pause(patience.between);
    waited += patience.between;
  }
}

}  // namespace gcoord::server
