#include "gcoord/clock.h"

#include <ctime>

namespace gcoord::client {
namespace {

class BootClock final : public Clock {
 public:
  TimePoint now() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  }
};

}  // namespace

std::shared_ptr<Clock> boot_clock() {
  static const auto clock = std::make_shared<BootClock>();
  return clock;
}

}  // namespace gcoord::client
