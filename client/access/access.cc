#include "client/access/access.h"

#include "client/net/failure.h"
#include "protocol/access/messages.h"
#include "security/credentials/password.h"
#include "security/roles/grant_rules.h"
#include "security/secret/bytes.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;

AccessGrant grant_of(const security::Grant& grant) {
  AccessGrant said;
  said.prefix = grant.prefix;
  said.exact = grant.exact;
  for (const security::RightRow& row : security::right_rows()) {
    if ((grant.rights & security::bit_of(row.right)) != 0) {
      said.rights.emplace_back(row.name);
    }
  }
  return said;
}

AccessRole role_of(const protocol::RoleRow& row) {
  AccessRole role;
  role.name = row.first;
  role.includes = row.second.includes;
  std::ranges::transform(row.second.grants, std::back_inserter(role.grants), grant_of);
  return role;
}

AccessUser user_of(const protocol::UserRow& row) {
  return {.name = row.name,
          .has_password = row.has_password,
          .disabled = row.disabled,
          .roles = row.roles,
          .changed = row.changed};
}

const char* proof_text(protocol::ProofKind proof) {
  switch (proof) {
    case protocol::ProofKind::None:
      return "none";
    case protocol::ProofKind::Certificate:
      return "certificate";
    case protocol::ProofKind::Password:
      return "password";
    case protocol::ProofKind::Token:
      return "token";
    case protocol::ProofKind::UnixSocket:
      return "unix-socket";
  }
  return "unknown";  // Of a later release.
}

AccessSelf self_of(const protocol::AccessSelf& said) {
  return {.kind = std::string{security::principal_kind_name(said.principal.kind)},
          .name = said.principal.name,
          .proof = proof_text(said.proof),
          .until_ms = said.until_ms,
          .address = said.address};
}

std::optional<AccessReport> read_report(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_access_answer(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  const protocol::AccessAnswer& said = decoded.value();
  AccessReport report;
  report.epoch = said.epoch;
  report.enabled = said.enabled;
  report.recoveries = said.recoveries;
  report.user_count = said.user_count;
  report.role_count = said.role_count;
  report.more = said.more;
  if (said.self) {
    report.self = self_of(*said.self);
  }
  std::ranges::transform(said.users, std::back_inserter(report.users), user_of);
  std::ranges::transform(said.roles, std::back_inserter(report.roles), role_of);
  return report;
}

constexpr StateRequest<AccessReport> kGet{
    protocol::RequestKind::AccessGet, "users and roles", "access", read_report};
constexpr StateRequest<AccessReport> kChange{
    protocol::RequestKind::AccessChange, "users and roles", "access", read_report};

// The grants of all words, those of one prefix put together. `earlier`: the cluster's release knows
// fewer rights, so "admin" is all that it knows; a right that is named is sent as it is.
Result<std::vector<security::Grant>> grants_of(const AccessChange& change, bool earlier) {
  std::vector<security::Grant> grants;
  for (const AccessGrant& each : change.grants) {
    std::string error;
    const auto made = security::grants_of({.words = each.rights,
                                           .prefix = each.prefix,
                                           .exact = each.exact,
                                           .revokes = change.action == AccessAction::RoleRevoke},
                                          error);
    if (!made) {
      return failure(ErrorCode::GrantInvalid, error);
    }
    const auto is_later = [](const std::string& word) {
      const auto right = security::parse_right(word);
      return right && (security::bit_of(*right) & security::kEarlierRights) == 0;
    };
    const bool only_known = earlier && std::ranges::none_of(each.rights, is_later);
    for (security::Grant grant : *made) {
      grant.rights &= only_known ? security::kEarlierRights : security::kAllRights;
      security::add_grant(grants, grant);
    }
  }
  return grants;
}

// A name that a node would not read.
bool is_too_long(const AccessChange& change) {
  const auto long_role = [](const std::string& role) {
    return role.size() > security::kRoleNameBytesMax;
  };
  return change.name.size() > security::kUserNameBytesMax ||
         std::ranges::any_of(change.roles, long_role);
}

Result<protocol::AccessOrder> order_of(const AccessChange& change, bool earlier) {
  if (change.action < AccessAction::UserAdd || change.action > AccessAction::Disable) {
    return failure(ErrorCode::OptionInvalid, "the action");
  }
  if (is_too_long(change)) {
    return failure(ErrorCode::AccessNameInvalid, "a name is too long");
  }
  if (change.password.size() > protocol::kPasswordBytesMax) {
    return failure(ErrorCode::PasswordInvalid, "it is too long");
  }
  auto grants = grants_of(change, earlier);
  if (!grants.ok()) {
    return grants.status();
  }
  if (change.roles.size() > security::kRolesOfUserMax ||
      grants.value().size() > security::kCommandGrantsMax) {
    return failure(ErrorCode::AccessExhausted, "at most 16 roles and 16 prefixes in one change");
  }
  protocol::AccessOrder order;
  order.dry_run = change.dry_run;
  order.kind = static_cast<security::AccessKind>(change.action);
  order.expected = change.epoch;
  order.number = drawn_number();
  order.name = change.name;
  order.who = change.who.substr(0, security::kAccessWhoBytesMax);
  order.password = change.password;
  order.roles = change.roles;
  order.grants = std::move(grants).value();
  return order;
}

// A change that is sent until a node takes or refuses it: in its first second a leader does not
// know whether all nodes know of roles (AccessNotReady).
struct SentChange {
  SentChange(Core& where, security::SecretBytes what, Callback<Result<AccessReport>> told)
      : core(where),
        payload(std::move(what)),
        deadline(where.request_deadline()),
        callback(std::move(told)) {}

  Core& core;
  security::SecretBytes payload;  // With the number by which its repetitions are one change.
  bool has_password = false;
  TimePoint deadline;
  Callback<Result<AccessReport>> callback;
};

constexpr std::chrono::milliseconds kReadyAgain{100};

void send_change(const std::shared_ptr<SentChange>& sent);

// Whether it was put off, to be sent again.
bool put_off(const std::shared_ptr<SentChange>& sent, const Answer& answer) {
  Core& core = sent->core;
  const TimePoint again = core.clock().now() + kReadyAgain;
  const auto detail = static_cast<ErrorCode>(answer.status.detail());
  const bool early = detail == ErrorCode::AccessNotReady || detail == ErrorCode::SafeguardsNotReady;
  if (!early || again >= sent->deadline) {
    return false;
  }
  core.call_at(again, [sent] { send_change(sent); });
  core.call_at_stop(std::weak_ptr<void>{sent}, [over = std::weak_ptr{sent}] {
    if (const auto waiting = over.lock()) {
      waiting->callback(failure(ErrorCode::ClientClosed));
    }
  });
  return true;
}

void send_change(const std::shared_ptr<SentChange>& sent) {
  auto operation = system_operation(sent->core, kChange.kind);
  operation->secret = sent->has_password;
  operation->payload = sent->payload.text();
  operation->deadline = sent->deadline;
  operation->callback = [sent](const Answer& answer) {
    if (!put_off(sent, answer)) {
      sent->callback(kChange.outcome_of(answer));
    }
  };
  sent->core.submit(std::move(operation));
}

}  // namespace

void access(Core& core, const AccessQuery& query, Callback<Result<AccessReport>> callback) {
  if (query.name.size() > security::kUserNameBytesMax ||
      query.after.size() > security::kUserNameBytesMax) {
    return refuse(core, std::move(callback), failure(ErrorCode::AccessNameInvalid, "too long"));
  }
  const protocol::AccessQuery asked{
      .subject = static_cast<protocol::AccessSubject>(query.subject),
      .replica = query.node_id != 0,
      .limit = std::clamp<std::uint32_t>(query.limit, 1, protocol::kAccessRowsMax),
      .name = query.name,
      .after = query.after};
  kGet.submit(
      core, {NodeId{query.node_id}, protocol::encode_access_query(asked)}, std::move(callback));
}

void change_access(Core& core,
                   const AccessChange& change,
                   Callback<Result<AccessReport>> callback) {
  // Before the first Welcome there is nothing to go by.
  const bool earlier = core.shard_count() != 0 && !core.has(protocol::Feature::Safeguards);
  auto order = order_of(change, earlier);
  if (!order.ok()) {
    return refuse(core, std::move(callback), order.status());
  }
  security::SecretBytes payload{protocol::encode_access_order(order.value())};
  const auto sent = std::make_shared<SentChange>(core, std::move(payload), std::move(callback));
  sent->has_password = !order.value().password.empty();
  security::wipe(order.value().password);
  send_change(sent);
}

}  // namespace gcoord::client
