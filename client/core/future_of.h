// The two public forms of an asynchronous call: one that waits, and one that returns a future.
//
// A call is a function start(Core&, arguments..., Callback<R>). A member of Client is one line of
// it: blocking<start>(core, arguments...) waits for R, in_future<start>(core, arguments...) returns
// Future<R>. The arguments are copied by start before it returns.
#pragma once

#include "client/core/blocking.h"
#include "client/core/core.h"
#include "gcoord/future.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
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

// The type that the last parameter of a call takes.
template <typename Function>
struct OutcomeOf;

template <typename... Parameters>
struct OutcomeOf<void (*)(Parameters...)> {
  template <typename R>
  static R taken(const std::function<void(R)>&);

  using Last = std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>;
  using Type = decltype(taken(std::declval<Last>()));
};

template <auto Start, typename... Arguments>
auto blocking(Core& core, const Arguments&... arguments) {
  return await<typename OutcomeOf<decltype(Start)>::Type>(
      core, [&](auto callback) { Start(core, arguments..., std::move(callback)); });
}

template <auto Start, typename... Arguments>
auto in_future(Core& core, const Arguments&... arguments) {
  return future_of<typename OutcomeOf<decltype(Start)>::Type>(
      core, [&](auto callback) { Start(core, arguments..., std::move(callback)); });
}

}  // namespace gcoord::client
