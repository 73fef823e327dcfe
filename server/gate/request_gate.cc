#include "server/gate/request_gate.h"

#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/watch_messages.h"
#include "server/interfaces/replies.h"
#include "server/rights/decision.h"

#include <algorithm>
#include <string>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// Kinds whose answer names the holder of the one name that they are about.
bool names_holder(RequestKind kind) {
  switch (kind) {
    case RequestKind::LockAcquire:
    case RequestKind::LockAcquireHold:
    case RequestKind::LockRelease:
    case RequestKind::LockCancel:
    case RequestKind::LockBreak:
    case RequestKind::ElectProclaim:
    case RequestKind::ElectTransfer:
    case RequestKind::ElectCandidates:
      return true;
    default:
      return false;
  }
}

// Kinds that say how a node and its cluster are, and nothing of locks, sessions or users.
bool is_of_health(RequestKind kind) {
  switch (kind) {
    case RequestKind::NodeStatus:
    case RequestKind::ShardList:
    case RequestKind::ShardShow:
    case RequestKind::LeaderMap:
    case RequestKind::ViewGet:
      return true;
    default:
      return false;
  }
}

// The rights that a request had to have.
security::RightMask demanded(const RequestDemands& demands) {
  security::RightMask rights = 0;
  for (const DemandRow& row : demands.rows) {
    const bool none = row.scope == DemandScope::Anyone || row.scope == DemandScope::Identified;
    rights |= none || !demands.applies(row) ? 0 : security::bit_of(row.right);
  }
  return rights;
}

// Whether some role has session.choose, which nobody is granted before all nodes know it.
bool grants_choice(const security::AccessTable& table) {
  return std::ranges::any_of(table.roles, [](const auto& row) {
    return std::ranges::any_of(row.second.grants, [](const security::Grant& grant) {
      return (grant.rights & security::bit_of(security::Right::SessionChoose)) != 0;
    });
  });
}

}  // namespace

RequestGate::RequestGate(MetricsRegistry& metrics)
    : refusals_(metrics),
      epoch_(metrics.gauge({"gcoord_server_access_epoch",
                            "Epoch of the users and roles by which the node decides; nodes that "
                            "differ for long do not hear of changes.",
                            "",
                            ""})),
      enabled_(
          metrics.gauge({"gcoord_server_access_enabled", "1: the node checks rights.", "", ""})) {}

void RequestGate::show() {
  choice_guarded();
  const security::AccessTable& table = environment_->table();
  epoch_.set(static_cast<std::int64_t>(table.epoch));
  enabled_.set(table.enabled ? 1 : 0);
}

const security::RightsOf& RequestGate::rights(protocol::ConnectionId connection) {
  return rights_of(environment_->clients.principal(connection));
}

const security::RightsOf& RequestGate::rights_of(const security::Principal& principal) {
  return *cache_.rights(environment_->table(), principal);
}

std::string RequestGate::refuse_wait(protocol::ConnectionId connection,
                                     const security::Principal& principal,
                                     const MissingRight& missing) {
  std::string why = refusal_text(security::to_string(principal), missing);
  if (refusals_.add_ended_wait(principal, environment_->now_ms())) {
    refusals_.log(principal, "a wait of " + environment_->clients.describe(connection), why);
  }
  return why;
}

SessionStanding RequestGate::standing(protocol::ConnectionId connection, SessionId session) const {
  return environment_->standing(connection, session);
}

bool RequestGate::may_list(protocol::ConnectionId connection, SessionId session) const {
  return standing(connection, session) == SessionStanding::Own ||
         (environment_->is_behind &&
          environment_->is_behind(environment_->clients.principal(connection), session));
}

// Of a watch its query names the session.
SessionStanding RequestGate::standing_of(protocol::ConnectionId connection,
                                         const protocol::RequestSlot& slot,
                                         std::span<const std::byte> payload) const {
  SessionId session{slot.session};
  if (slot.kind == RequestKind::WatchOpen) {
    const auto query = protocol::decode_watch_query(payload);
    session = query.ok() ? query.value().session : SessionId{};
  }
  return session.value == 0 ? SessionStanding::Unproven : standing(connection, session);
}

// Of a request that begins a change.
bool RequestGate::pass_confirmed(protocol::ConnectionId connection,
                                 const protocol::RequestSlot& slot) {
  if (environment_->confirmed()) {
    return true;
  }
  refuse_unconfirmed(connection, slot);
  return false;
}

void RequestGate::refuse_unconfirmed(protocol::ConnectionId connection,
                                     const protocol::RequestSlot& slot) {
  refusals_.add_unconfirmed();
  environment_->clients.reply(connection, error_reply(slot, ErrorCode::RightsUnconfirmed), {});
}

// While the roles are not known.
bool RequestGate::pass_unknown(protocol::ConnectionId connection,
                               const protocol::RequestSlot& slot) const {
  const RolesStand stand = environment_->stand();
  if (stand == RolesStand::Known || slot.kind == RequestKind::MemberJoin) {
    return true;  // The token of a join is its proof.
  }
  const protocol::ReplySink& clients = environment_->clients;
  const HealthReader reader{
      .loopback = clients.origin(connection) == protocol::RecordOrigin::Loopback,
      .proven = clients.principal(connection).kind != security::PrincipalKind::Anonymous};
  return is_of_health(slot.kind) && may_see_health(stand, reader);
}

// A node that is down is not seen to have the feature, so what was seen once is kept.
bool RequestGate::choice_guarded() {
  const security::AccessTable& table = environment_->table();
  if (!choice_guarded_) {
    choice_guarded_ =
        !all_guard_ || all_guard_() || (roles_looked_at_ != table.epoch && grants_choice(table));
    roles_looked_at_ = table.epoch;
  }
  return choice_guarded_;
}

// The choice of a session's id is the last thing that a request demands, so nothing else is missing
// where that is.
std::optional<MissingRight> RequestGate::missing_of(const RequestDemands& demands,
                                                    const security::RightsOf& granted,
                                                    bool identified) {
  auto missing = missing_right(demands, granted, identified);
  const bool chooses = missing && missing->scope == DemandScope::Cluster &&
                       missing->right == security::Right::SessionChoose;
  if (chooses && !choice_guarded() &&
      granted.allows_all_below(security::Right::SessionReadAll, "")) {
    return std::nullopt;
  }
  return missing;
}

bool RequestGate::pass(protocol::ConnectionId connection,
                       protocol::RequestSlot& slot,
                       std::span<const std::byte> payload) {
  authority_ = {};
  if (environment_ && !pass_unknown(connection, slot)) {
    refuse_unconfirmed(connection, slot);
    return false;
  }
  if (!follows_roles()) {
    return true;
  }
  if (!on()) {
    const RequestDemands demands = demands_of(slot, payload, SessionStanding::Unproven);
    return !begins_change(demands, slot) || pass_confirmed(connection, slot);
  }
  protocol::ReplySink& clients = environment_->clients;
  const RequestDemands demands = demands_of(slot, payload, standing_of(connection, slot, payload));
  const security::Principal& principal = clients.principal(connection);
  const security::RightsOf& granted = rights(connection);
  const bool identified = principal.kind != security::PrincipalKind::Anonymous;
  if (const auto missing = missing_of(demands, granted, identified)) {
    const std::string why = refusal_text(security::to_string(principal), *missing);
    if (refusals_.add({principal, *missing}, environment_->now_ms())) {
      refusals_.log(principal, clients.describe(connection), why);
    }
    clients.reply(connection, error_reply(slot, ErrorCode::NotAllowed), protocol::bytes_of(why));
    return false;
  }
  if (begins_change(demands, slot) && !pass_confirmed(connection, slot)) {
    return false;
  }
  authority_ = {cache_.number(principal), security::kAllRights & ~demanded(demands)};
  if (names_holder(slot.kind) &&
      !granted.allows(security::Right::LockReadDetails, demands.subject())) {
    slot.set(protocol::RequestFlag::Discreet);
  }
  return true;
}

}  // namespace gcoord::server
