#include "server/gate/http_gate.h"

#include "protocol/error_codes.h"
#include "security/credentials/principal.h"
#include "server/gate/refusals.h"
#include "server/identities/identity_requests.h"
#include "server/identities/table_users.h"
#include "server/rights/decision.h"

#include <string>
#include <utility>

namespace gcoord::server {

namespace {

HttpAnswer answer_of(const Status& status) {
  const int code = status.code() == StatusCode::Unavailable        ? 503
                   : status.code() == StatusCode::PermissionDenied ? 403
                                                                   : 401;
  return {.status = code, .body = status.to_string() + "\n"};
}

bool has_ended(const security::TlsPeer& peer, std::uint64_t now_s) {
  return peer.not_after_s > 0 && static_cast<std::uint64_t>(peer.not_after_s) <= now_s;
}

}  // namespace

HttpGate::HttpGate(MetricsRegistry& metrics, std::function<std::uint64_t()> wall_s)
    : wall_s_(std::move(wall_s)), unidentified_(metrics.counter(Refusals::name_of("identity"))) {
  for (const security::RightRow& row : security::right_rows()) {
    by_right_[static_cast<std::size_t>(row.right)] = &metrics.counter(Refusals::name_of(row.name));
  }
}

void HttpGate::set_tokens(security::TokenRing tokens) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  if (rules_ != nullptr) {
    rules_ = std::make_shared<const Rules>(Rules{rules_->table, tokens_, rules_->stand});
  }
}

void HttpGate::publish(const security::AccessTable& table, RolesStand stand) {
  const Published now{.epoch = table.epoch, .enabled = table.enabled, .stand = stand};
  if (now == published_) {
    return;
  }
  published_ = now;
  const bool open = stand == RolesStand::Known && !table.enabled && table.epoch == 0;
  const std::lock_guard lock(mutex_);
  rules_ = open ? nullptr : std::make_shared<const Rules>(Rules{table, tokens_, stand});
}

std::shared_ptr<const HttpGate::Rules> HttpGate::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

bool HttpGate::on() const {
  const auto now = rules();
  return now != nullptr && (now->table.enabled || !now->known());
}

Result<security::Principal> HttpGate::principal_of_request(const Rules& rules,
                                                           const HttpRequest& request) const {
  if (!request.bearer.empty()) {
    GCOORD_TRY(const security::TokenClaims claims, rules.tokens.verify(request.bearer, wall_s_()));
    const TableUsers users([&rules]() -> const security::AccessTable& { return rules.table; });
    GCOORD_TRY_STATUS(check_token_user(users, claims));
    return claims.principal;
  }
  // A connection may outlive the certificate that it came with.
  if (request.peer != nullptr && !has_ended(*request.peer, wall_s_())) {
    const security::TlsPeer& peer = *request.peer;
    return security::principal_of({peer.uris, peer.dns, peer.common_name}, cluster_);
  }
  return security::Principal{};
}

HealthReader HttpGate::reader_of(const Rules& rules, const HttpRequest& request) const {
  const auto principal = principal_of_request(rules, request);
  return {.loopback = request.loopback,
          .proven = principal.ok() && principal.value().kind != security::PrincipalKind::Anonymous};
}

bool HttpGate::allows(const Rules& rules,
                      const security::Principal& principal,
                      security::Right right) {
  const std::lock_guard lock(mutex_);  // The cache is everybody's.
  return cache_.rights(rules.table, principal)->allows_all_below(right, "");
}

bool HttpGate::may_see_verifiers(const HttpRequest& request) {
  const std::shared_ptr<const Rules> now = rules();
  if (now == nullptr || !now->known()) {
    return false;
  }
  const auto who = principal_of_request(*now, request);
  return who.ok() && allows(*now, who.value(), security::Right::AuthAdmin);
}

std::optional<HttpAnswer> HttpGate::refusal(HttpPort port, const HttpRequest& request) {
  const auto right = page_right(port, request.path);
  const std::shared_ptr<const Rules> now = right ? rules() : nullptr;
  if (now == nullptr || (now->known() && !now->table.enabled)) {
    return std::nullopt;
  }
  if (!now->known()) {
    const bool of_health = port == HttpPort::Metrics && *right != security::Right::ClusterAdmin;
    return of_health && may_see_health(now->stand, reader_of(*now, request))
               ? std::nullopt
               : std::optional(
                     answer_of(protocol::make_error(protocol::ErrorCode::RightsUnconfirmed)));
  }
  const auto principal = principal_of_request(*now, request);
  if (!principal.ok()) {
    unidentified_.add();
    return answer_of(principal.status());
  }
  const security::Principal& who = principal.value();
  if (allows(*now, who, *right)) {
    return std::nullopt;
  }
  by_right_[static_cast<std::size_t>(*right)]->add();
  const MissingRight missing{.right = *right, .scope = DemandScope::Cluster, .name = {}};
  HttpAnswer answer = answer_of(protocol::make_error(
      protocol::ErrorCode::NotAllowed, refusal_text(security::to_string(who), missing)));
  answer.status = who.kind == security::PrincipalKind::Anonymous ? 401 : 403;
  return answer;
}

}  // namespace gcoord::server
