// A clock that moves only when a test says so, and wakes the client when it does.
#pragma once

#include "gcoord/clock.h"

#include <functional>
#include <mutex>
#include <utility>

namespace gcoord::client {

class ManualClock final : public Clock {
 public:
  TimePoint now() const override {
    const std::lock_guard lock{mutex_};
    return now_;
  }

  void notify_moves(std::function<void()> wake) override {
    const std::lock_guard lock{mutex_};
    wake_ = std::move(wake);
  }

  void advance(TimePoint duration) {
    std::function<void()> wake;
    {
      const std::lock_guard lock{mutex_};
      now_ += duration;
      wake = wake_;
    }
    if (wake) {
      wake();
    }
  }

 private:
  mutable std::mutex mutex_;
  // Not zero, so that differences to before the start do not underflow by accident.
  TimePoint now_ = std::chrono::hours{1};
  std::function<void()> wake_;
};

}  // namespace gcoord::client
