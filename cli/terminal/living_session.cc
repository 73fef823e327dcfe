#include "cli/terminal/living_session.h"

#include "cli/credentials/session_key_files.h"
#include "protocol/error_codes.h"

#include <string>
#include <utility>

namespace gcoord::cli {

namespace {

constexpr auto kShowsNone = static_cast<std::uint32_t>(protocol::ErrorCode::FeatureMissing);
constexpr auto kNotAllowed = static_cast<std::uint32_t>(protocol::ErrorCode::NotAllowed);

}  // namespace

std::optional<client::SessionDescription> living_session(Context& context,
                                                         client::Client& client,
                                                         std::uint64_t session_id) {
  if (!context.show_key(client, session_id)) {
    return std::nullopt;
  }
  auto described = client.session(session_id);
  // Who may not see it, but has its key, finds out by what is done with it.
  const std::uint32_t refusal = described.status().detail();
  if (refusal == kShowsNone || refusal == kNotAllowed) {
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

std::optional<client::Status> release_elsewhere(Context& context,
                                                const HoldElsewhere& hold,
                                                bool (*is_over)(const client::Status&)) {
  auto client = context.connect();
  if (!client.has_value()) {
    return std::nullopt;
  }
  client::AttachOptions attach;
  attach.session_id = hold.session;
  auto session = context.attach(*client, attach);
  if (!session.ok()) {
    context.refuse(*client, session.status());
    return std::nullopt;
  }
  client::Status released = session.value().release(hold.name, hold.token);
  session.value().detach();
  if (!released.ok() && !is_over(released)) {
    // Without the key it is a hold like any other, which takes the right to break it.
    const bool unproven =
        released.detail() == kNotAllowed && !names_session_key(context.globals().session_key_file);
    context.refuse(*client,
                   unproven ? client::Status{released.code(),
                                             released.message() +
                                                 "; if the lock is your own, show the key of its "
                                                 "session: --session-key-file",
                                             released.detail()}
                            : released);
    return std::nullopt;
  }
  return released;
}

}  // namespace gcoord::cli
