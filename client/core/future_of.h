// The future form of an asynchronous call.
#pragma once

#include "client/core/core.h"
#include "gcoord/future.h"

#include <memory>
#include <utility>

namespace gcoord::client {

// Calls start(callback) and returns what callback(R) will bring. A start that refuses at once is
// well too.
template <typename R, typename Start>
Future<R> future_of(const Core& core, Start start) {
  auto state = std::make_shared<FutureState<R>>(core.thread_id());
  start([state](R result) { state->set(std::move(result)); });
  return Future<R>{std::move(state)};
}

}  // namespace gcoord::client
