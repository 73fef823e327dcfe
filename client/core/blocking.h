// The blocking form of an asynchronous call. Every operation ends by its deadline or with its
// client, so this returns.
#pragma once

#include "client/core/core.h"
#include "client/net/failure.h"

#include <future>
#include <memory>
#include <utility>

namespace gcoord::client {

// Calls start(callback) and waits for callback(R). R is a Status or a Result. Fails on the client's
// own thread, which would wait for itself.
template <typename R, typename Start>
R await(const Core& core, Start start) {
  if (core.on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  auto promise = std::make_shared<std::promise<R>>();
  auto future = promise->get_future();
  start([promise](R result) { promise->set_value(std::move(result)); });
  return future.get();
}

// The result of read(core), read on the client's thread; here once that has ended, and not before:
// its last work changes what is read.
template <typename T, typename Read>
T read_on_thread(Core& core, Read read) {
  auto promise = std::make_shared<std::promise<T>>();
  auto future = promise->get_future();
  if (core.on_own_thread()) {
    return read(core);
  }
  if (!core.post([&core, promise, read] { promise->set_value(read(core)); })) {
    core.wait_ended();
    return read(core);
  }
  return future.get();
}

struct TimedWait {
  WaitFor what;
  std::chrono::milliseconds timeout;
};

// Core::wait_for for any thread, for so long at most.
template <typename Told>
void begin_wait(Core& core, TimedWait wait, Told callback) {
  const TimePoint deadline = core.clock().now() + TimePoint{wait.timeout};
  if (!core.post([&core, what = wait.what, deadline, callback] {
        core.wait_for(what, deadline, callback);
      })) {
    callback(failure(protocol::ErrorCode::ClientClosed));
  }
}

inline Status wait_until(Core& core, WaitFor what, std::chrono::milliseconds timeout) {
  return await<Status>(core, [&](auto callback) {
    begin_wait(core, {what, timeout}, std::move(callback));
  });
}

// Core::majority() for any thread.
inline Status majority(Core& core) {
  return read_on_thread<Status>(core, [](const Core& own) { return own.majority(); });
}

}  // namespace gcoord::client
