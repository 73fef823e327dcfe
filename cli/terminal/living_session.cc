#include "cli/terminal/living_session.h"

#include "protocol/error_codes.h"

#include <string>
#include <utility>

namespace gcoord::cli {

namespace {

constexpr auto kShowsNone = static_cast<std::uint32_t>(protocol::ErrorCode::FeatureMissing);

}  // namespace

std::optional<client::SessionDescription> living_session(Context& context,
                                                         client::Client& client,
                                                         std::uint64_t session_id) {
  // Its key, where the user has it, is shown before anything is asked: others may not see it.
  client::AttachOptions own;
  own.session_id = session_id;
  const auto attached = context.attach(client, std::move(own));
  if (!attached.ok()) {
    context.refuse(client, attached.status());
    return std::nullopt;
  }
  auto described = client.session(session_id);
  if (described.status().detail() == kShowsNone) {
    client::SessionDescription believed;
    believed.session_id = session_id;
    believed.alive = true;
    return believed;
  }
  if (described.ok() && !described.value().alive) {
    described = client.keep_alive_once(session_id);
  }
  if (!described.ok()) {
    context.refuse(client, described.status());
    return std::nullopt;
  }
  if (!described.value().alive) {
    context.refuse(protocol::make_error(protocol::ErrorCode::SessionUnknown,
                                        "session " + std::to_string(session_id)));
    return std::nullopt;
  }
  return std::move(described).value();
}

}  // namespace gcoord::cli
