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

}  // namespace gcoord::client
