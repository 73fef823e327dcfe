#include "server/platform/device_busy_wait.h"

#include "server/platform/operator_log.h"

#include <thread>

namespace gcoord::server {

DeviceBusyWait device_patience() {
  DeviceBusyWait patience;
  patience.pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  patience.notice = [limit = patience.limit](const std::string& message) {
    log_warning(LogComponent::Gpu,
                "the device is busy ({}); trying again for {} s",
                message,
                limit.count() / 1000);
  };
  return patience;
}

}  // namespace gcoord::server
