#include "cli/group/stay.h"

#include <utility>

namespace gcoord::cli {

std::optional<client::Session> open_own(Context& context,
                                        client::Client& client,
                                        std::chrono::milliseconds ttl) {
  auto opened = client.open_session({.ttl = ttl});
  if (!opened.ok()) {
    context.refuse(client, opened.status());
    return std::nullopt;
  }
  return std::move(opened).value();
}

bool stay(client::Session& session,
          const SignalFd& signals,
          const std::function<client::Status()>& leave) {
  while (session.alive()) {
    wait_readable({signals.fd()}, kStayLook);
    if (signals.take() != 0) {
      const client::Status left = leave();
      const client::Status closed = session.close();
      if (!left.ok() && !closed.ok()) {
        talk("could not leave; the group loses this member when its session ends: " +
             left.to_string());
      }
      return true;
    }
  }
  return false;
}

int lost(Context& context, const std::string& what) {
  context.fail(protocol::make_error(protocol::ErrorCode::SessionExpired, what));
  return kSessionLostExit;
}

}  // namespace gcoord::cli
