// Restarts of a node in its process after a fault of its GPU: the node is opened anew with a
// new context on the device, or the process leaves at once.
#pragma once

#include "common/status.h"
#include "server/gpu_policy/judge.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace gcoord {

// Whether the end has to do with the node's device, whose driver may then hold up an ordinary end
// of the process.
bool is_of_device(const Status& ended);

// So long may the end of a node and of its context on a GPU take: a driver that hangs lets neither
// go. And the opening after it, which also reads the node's directory.
inline constexpr std::chrono::seconds kCloseLimit{60};
inline constexpr std::chrono::minutes kReopenLimit{10};

// A limit of time for what its owner does while it lives. One owner.
class TimeLimit {
 public:
  // `on_late` is called by another thread, once, unless this is gone within `limit`.
  TimeLimit(std::chrono::milliseconds limit, std::function<void()> on_late);

  // Waits for on_late where that has begun.
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// One thread.
class NodeRestarts {
 public:
  // Whether the node ended so that its device's context is closed and both are opened anew. Not too
  // often within an hour.
  bool takes(const Status& ended);

  // N of cuda:N, on which nothing of this process is any more. A failure shows when the device is
  // opened again.
  static void close_context(std::optional<std::uint32_t> gpu);

 private:
  server::ContextRestarts restarts_;
};

}  // namespace gcoord
