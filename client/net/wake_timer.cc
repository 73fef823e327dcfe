#include "client/net/wake_timer.h"

#include "client/net/asio.h"
#include "common/assert.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gcoord::client {
namespace {

int open_timer() {
  const int descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  GCOORD_ASSERT(descriptor >= 0);
  return descriptor;
}

// timerfd takes 0 for "off", so the shortest delay is not 0; a day is as good as never.
constexpr TimePoint kDelayMin = std::chrono::microseconds{1};
constexpr TimePoint kDelayMax = std::chrono::hours{24};

}  // namespace

struct WakeTimer::Descriptor : asio::posix::stream_descriptor {
  using asio::posix::stream_descriptor::stream_descriptor;
};

WakeTimer::WakeTimer(asio::io_context& context, Clock& clock, std::function<void()> wake)
    : clock_(clock),
      wake_(std::move(wake)),
      timer_(std::make_unique<Descriptor>(context, open_timer())) {
  wait();
}

WakeTimer::~WakeTimer() = default;

void WakeTimer::wake_at(TimePoint moment) {
  // An alarm that is set for an earlier moment will do: it looks again then.
  if (moment < armed_for_) {
    armed_for_ = moment;
    arm(moment - clock_.now());
  }
}

void WakeTimer::arm(TimePoint delay) {
  const auto nanoseconds = std::clamp(delay, kDelayMin, kDelayMax).count();
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  itimerspec alarm{};
  alarm.it_value.tv_sec = nanoseconds / kPerSecond;
  alarm.it_value.tv_nsec = nanoseconds % kPerSecond;
  timerfd_settime(timer_->native_handle(), 0, &alarm, nullptr);
}

void WakeTimer::wait() {
  timer_->async_wait(
      asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
        if (error) {
          return;  // Stopped.
        }
        std::uint64_t expirations = 0;
        static_cast<void>(!read(timer_->native_handle(), &expirations, sizeof(expirations)));
        armed_for_ = TimePoint::max();
        wait();
        wake_();
      });
}

void WakeTimer::stop() {
  asio::error_code ignored;
  timer_->close(ignored);
}

}  // namespace gcoord::client
