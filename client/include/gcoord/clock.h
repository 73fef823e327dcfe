// Clock of the client library. Programs need not care; tests bring their own.
//
// Every deadline, back-off and lease of a client is measured on its clock alone, never on a node's:
// clocks of machines are only assumed to run at about the same rate (ClientOptions::drift_divisor),
// not to show the same time. Functions are called from any thread.
//
// A test's clock is a subclass that returns a time of the test's choice, moves it by hand, and
// calls the function of notify_moves after each move. It is passed in ClientOptions::clock; several
// clients may share it.
#pragma once

#include "gcoord/api.h"

#include <chrono>
#include <functional>
#include <memory>

namespace gcoord::client {

// Time since some fixed moment; never goes back.
using TimePoint = std::chrono::nanoseconds;

// Interface of a client's clock (ClientOptions::clock).
class GCOORD_API Clock {
 public:
  virtual ~Clock() = default;

  // Called from any thread, often.
  virtual TimePoint now() const = 0;

  // A clock that is moved by hand calls `wake` after each move, until it is given an empty
  // function. The default suits clocks that run by themselves.
  virtual void notify_moves(std::function<void()> wake) { static_cast<void>(wake); }
};

// The default: CLOCK_BOOTTIME. It counts the time a machine was suspended, as leases must.
GCOORD_API std::shared_ptr<Clock> boot_clock();

}  // namespace gcoord::client
