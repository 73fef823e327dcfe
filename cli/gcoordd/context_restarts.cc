#include "cli/gcoordd/context_restarts.h"

#include "common/device/device_errors.h"
#include "netcore/device/gpu_device.h"
#include "server/gpu_guard/guard.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"

#include <utility>

namespace gcoord {

bool is_of_device(const Status& ended) {
  return is_device_fault(ended.detail()) || server::is_gpu_stop(ended) ||
         server::is_context_restart(ended);
}

TimeLimit::TimeLimit(std::chrono::milliseconds limit, std::function<void()> on_late)
    : thread_([this, limit, late = std::move(on_late)] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, limit, [this] { return done_; })) {
          lock.unlock();
          late();
        }
      }) {}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool NodeRestarts::takes(const Status& ended) {
  return server::is_context_restart(ended) && restarts_.may_restart(server::boot_time_us() / 1000);
}

void NodeRestarts::close_context(std::optional<std::uint32_t> gpu) {
  if (!gpu.has_value()) {
    return;
  }
  const Status closed = netcore::close_gpu_context(*gpu);
  server::log_info(server::LogComponent::Gpu,
                   "the context of cuda:{} was closed{}",
                   *gpu,
                   closed.ok() ? "" : ", and the driver says: " + closed.to_string());
}

}  // namespace gcoord
