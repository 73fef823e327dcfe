#include "server/gate/reply_gate.h"

#include "server/rights/reply_mask.h"

namespace gcoord::server {

namespace {

// Sessions without what they hold.
bool lists_sessions(protocol::RequestKind kind) {
  return kind == protocol::RequestKind::SessionList ||
         kind == protocol::RequestKind::SessionDescribe;
}

}  // namespace

std::optional<std::vector<std::byte>> ReplyGate::masked(protocol::ConnectionId connection,
                                                        const protocol::ReplySlot& slot,
                                                        std::span<const std::byte> payload) {
  if (!is_masked_kind(slot.kind) || slot.code != StatusCode::Ok || !gate_.on()) {
    return std::nullopt;
  }
  const bool listed = lists_sessions(slot.kind);
  return mask_reply(slot.kind,
                    payload,
                    {gate_.rights(connection), [this, connection, listed](SessionId session) {
                       return listed ? gate_.may_list(connection, session)
                                     : gate_.standing(connection, session) == SessionStanding::Own;
                     }});
}

bool ReplyGate::lists(protocol::ConnectionId connection, std::string_view name) {
  return !gate_.on() || gate_.rights(connection).allows(security::Right::LockRead, name);
}

bool ReplyGate::is_operator(protocol::ConnectionId connection) {
  using security::Right;
  if (!gate_.on()) {
    return false;
  }
  const security::RightsOf& rights = gate_.rights(connection);
  return rights.allows_all_below(Right::ClusterAdmin, "") ||
         rights.allows_all_below(Right::MemberAdmin, "") ||
         rights.allows_all_below(Right::AuthAdmin, "");
}

}  // namespace gcoord::server
