// One timer for everything that has a time: it wakes the client's thread, which then looks at the
// clock. Built on timerfd with CLOCK_BOOTTIME, so that it is also due right after a suspension; a
// clock that is moved by hand wakes it by Clock::notify_moves. One thread.
#pragma once

#include "gcoord/clock.h"

#include <functional>
#include <memory>

namespace asio {
class io_context;
}

namespace gcoord::client {

class WakeTimer {
 public:
  // wake runs on the thread of the io_context, not inside a call of this class.
  WakeTimer(asio::io_context& context, Clock& clock, std::function<void()> wake);
  ~WakeTimer();

  // At this moment or before it; earlier calls for later moments are forgotten.
  void wake_at(TimePoint moment);

  void stop();

 private:
  struct Descriptor;  // Of the timer; asio's headers are dear.

  void wait();
  void arm(TimePoint delay);

  Clock& clock_;
  std::function<void()> wake_;
  std::unique_ptr<Descriptor> timer_;
  TimePoint armed_for_ = TimePoint::max();
};

}  // namespace gcoord::client
