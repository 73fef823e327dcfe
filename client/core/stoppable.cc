#include "client/core/stoppable.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace gcoord::client {

namespace {

using StopRegistration = std::optional<std::stop_callback<std::function<void()>>>;

}  // namespace

// The registration lives as long as the acquire, whose callback holds it, and so no longer than the
// core. It begins after the acquire was handed in: the client's thread takes operations before
// commands, so that the command finds the acquire under its id, or ended.
void submit_stoppable(Core& core, OperationPtr acquire, const std::stop_token* stop) {
  if (stop == nullptr || !stop->stop_possible()) {
    return core.submit(std::move(acquire));
  }
  const std::stop_token token = *stop;
  const auto link = std::make_shared<StopLink>();
  const auto registration = std::make_shared<StopRegistration>();
  acquire->stop = link;
  acquire->callback = [registration, callback = std::move(acquire->callback)](
                          const Answer& answer) { callback(answer); };
  core.submit(std::move(acquire));
  registration->emplace(token, [&core, link] {
    static_cast<void>(core.post([&core, link] {
      if (link->request_id.has_value()) {
        core.dispatcher().stop_wait(*link->request_id);
      }
    }));
  });
}

}  // namespace gcoord::client
