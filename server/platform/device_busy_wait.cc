#include "server/platform/device_busy_wait.h"

#include "server/platform/operator_log.h"

#include <thread>

namespace gcoord::server {

DevicePatience device_patience() {
  DevicePatience patience;
  patience.pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  patience.notice = [limit = patience.limit](const std::string& message) {
    say_warning("the device is busy ({}); trying again for {} s", message, limit.count() / 1000);
  };
  return patience;
}

}  // namespace gcoord::server
