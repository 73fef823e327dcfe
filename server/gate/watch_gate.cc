#include "server/gate/watch_gate.h"

#include "server/rights/decision.h"
#include "server/rights/reply_mask.h"

namespace gcoord::server {

namespace {

using security::Right;

// Whether the right is granted over all that the watch may tell of.
bool over_all(const security::RightsOf& rights, Right right, const WatchFilter& filter) {
  switch (filter.target) {
    case protocol::WatchTarget::Name:
      return rights.allows(right, filter.text);
    case protocol::WatchTarget::Prefix:
      return rights.allows_all_below(right, filter.text);
    case protocol::WatchTarget::Session:
      break;
  }
  return rights.allows_all_below(right, "");
}

}  // namespace

WatchVerdict WatchGate::judge(protocol::ConnectionId connection, const WatchFilter& filter) {
  if (!gate_.on()) {
    return {};
  }
  const security::RightsOf& rights = gate_.rights(connection);
  const bool session = filter.target == protocol::WatchTarget::Session;
  const RequestDemands demands =
      demands_of_watch({.target = filter.target,
                        .text = filter.text,
                        .queue = filter.queue,
                        .previous = filter.previous,
                        .kinds = filter.kinds,
                        .standing = session ? gate_.standing(connection, filter.session)
                                            : SessionStanding::Unproven});
  constexpr bool kIdentified = true;  // It does not matter: each watch needs a right.
  const auto missing = missing_right(demands, rights, kIdentified);
  const security::Principal& principal = gate_.clients().principal(connection);
  return {.allowed = !missing.has_value(),
          .whole = over_all(rights, Right::Watch, filter) &&
                   over_all(rights, Right::WatchDetails, filter),
          .past = over_all(rights, Right::LockHistory, filter),
          .why = missing ? refusal_text(security::to_string(principal), *missing) : std::string{}};
}

std::vector<std::byte> WatchGate::mask(protocol::ConnectionId connection,
                                       std::span<const std::byte> message) {
  if (!gate_.on()) {
    return {message.begin(), message.end()};
  }
  return mask_watch_message(message,
                            {gate_.rights(connection), [this, connection](SessionId session) {
                               return gate_.standing(connection, session) == SessionStanding::Own;
                             }});
}

}  // namespace gcoord::server
