#include "server/identities/identity_requests.h"

#include "common/assert.h"
#include "security/credentials/error_details.h"
#include "security/credentials/password.h"
#include "server/identities/table_users.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;
using security::TokenClaims;

static_assert(static_cast<std::uint32_t>(ErrorCode::TokenMalformed) == security::kTokenMalformed);
static_assert(static_cast<std::uint32_t>(ErrorCode::TokenForeign) == security::kTokenForeign);
static_assert(static_cast<std::uint32_t>(ErrorCode::TokenExpired) == security::kTokenExpired);
static_assert(static_cast<std::uint32_t>(ErrorCode::PasswordUnfit) == security::kPasswordInvalid);
static_assert(static_cast<std::uint32_t>(ErrorCode::SessionKeyInvalid) ==
              security::kSessionKeyInvalid);

IdentityRequests::IdentityRequests(Environment environment, SessionKeyMode mode)
    : env_(std::move(environment)), mode_(mode), proven_(env_.connections, env_.users) {}

void IdentityRequests::set_keys(IdentityKeys keys) {
  keys_ = std::move(keys);
  known_.clear();
}

void IdentityRequests::refuse(protocol::ConnectionId connection,
                              const protocol::RequestSlot& request,
                              ErrorCode error) {
  env_.replies.reply(connection, error_reply(request, error), {});
}

void IdentityRequests::on_request(const ClientRequest& request) {
  ConnectionIdentity* const connection = env_.connections.identity(request.connection);
  if (connection == nullptr) {
    return;  // It is gone, and nobody hears the answer.
  }
  if (request.slot.kind == protocol::RequestKind::Authenticate) {
    authenticate(request, *connection);
  } else {
    GCOORD_ASSERT(request.slot.kind == protocol::RequestKind::SessionAttach);
    attach(request, *connection);
  }
}

void IdentityRequests::authenticate(const ClientRequest& request, ConnectionIdentity& connection) {
  const auto order = protocol::decode_authenticate(request.payload);
  if (!order.ok()) {
    return refuse(request.connection, request.slot, ErrorCode::PayloadMalformed);
  }
  if (keys_.tokens.empty()) {
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationUnsupported);
  }
  if (order.value().method == protocol::AuthenticateMethod::Token) {
    return check_token(request, connection, order.value().token);
  }
  if (!limits_.admits(connection, env_.now_ms())) {
    env_.metrics.throttled.add();
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationThrottled);
  }
  check_password(request, connection, order.value());
}

// Who does not exist, is disabled or has no password is checked against a verifier that nobody's
// password fits, so that all of them take the same time.
void IdentityRequests::check_password(const ClientRequest& request,
                                      ConnectionIdentity& connection,
                                      const protocol::AuthenticateOrder& order) {
  const auto of_source = checking_.find(connection.source);
  if (connection.checking ||
      (of_source != checking_.end() && of_source->second.size() >= kChecksOfSource)) {
    env_.metrics.queue_full.add();
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationBusy);
  }
  const auto user = env_.users.find(order.user);
  const bool may = user && !user->disabled && security::verifier_valid(user->verifier);
  Checked checked{request.connection,
                  request.slot,
                  connection.source,
                  std::string{order.user},
                  may ? user->verifier : std::string{}};
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  const bool queued = env_.passwords.check(
      may ? user->verifier : security::decoy_verifier(),
      std::string{order.password},
      {.done = [this, checked = std::move(checked)](
                   PasswordWorker::Outcome outcome) { on_checked(checked, outcome); },
       .abandoned = abandoned});
  if (!queued) {
    env_.metrics.queue_full.add();
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationBusy);
  }
  connection.checking = true;
  checking_[connection.source].push_back({request.connection, abandoned});
  env_.metrics.queue.set(static_cast<std::int64_t>(env_.passwords.queued()));
}

// Those of connections that are gone: who comes after them does not wait for their turns. Nothing
// is counted against the address for one whose turn had not come: it learns nothing, and a crowd
// that gives up behind one address would else throttle those of it that wait.
void IdentityRequests::abandon_checks() {
  for (const auto& [source, checks] : checking_) {
    for (const Check& check : checks) {
      if (env_.connections.identity(check.connection) == nullptr) {
        check.abandoned->store(true, std::memory_order_relaxed);
      }
    }
  }
}

// The user may have been changed meanwhile.
void IdentityRequests::on_checked(const Checked& checked, PasswordWorker::Outcome outcome) {
  const auto of_source = checking_.find(checked.source);
  std::erase_if(of_source->second,
                [&](const Check& each) { return each.connection == checked.connection; });
  if (of_source->second.empty()) {
    checking_.erase(of_source);
  }
  if (outcome == PasswordWorker::Outcome::NotChecked) {
    return;  // Its connection is gone, and nobody hears the answer.
  }
  const bool fits = outcome == PasswordWorker::Outcome::Right;
  const auto now_known = env_.users.find(checked.user);
  const bool right = fits && now_known && !now_known->disabled && !checked.verifier.empty() &&
                     now_known->verifier == checked.verifier;
  (right ? env_.metrics.passwords_right : env_.metrics.passwords_wrong).add();
  ConnectionIdentity* const connection = env_.connections.identity(checked.connection);
  if (connection == nullptr) {
    return right ? void() : limits_.on_failure(checked.source, env_.now_ms());
  }
  connection->checking = false;
  if (!right) {
    limits_.on_failure(*connection, env_.now_ms());
    return refuse(checked.connection, checked.request, ErrorCode::AuthenticationFailed);
  }
  if (keys_.tokens.empty()) {
    return refuse(checked.connection, checked.request, ErrorCode::AuthenticationUnsupported);
  }
  const std::uint64_t now = now_s();
  become(*connection,
         {security::PrincipalKind::User, checked.user},
         {protocol::ProofKind::Password, now + env_.token_life_s, env_.users.epoch()});
  proven_.add(checked.connection);
  const TokenClaims claims{
      .principal = connection->principal, .roles_epoch = env_.users.epoch(), .proven_s = now};
  const protocol::AuthenticateAnswer answer{
      .principal = connection->principal,
      .life_s = static_cast<std::uint32_t>(env_.token_life_s),
      .token = keys_.tokens.issue(claims, now, env_.token_life_s)};
  env_.replies.reply(checked.connection,
                     protocol::reply_to(checked.request),
                     protocol::encode_authenticated(answer));
}

// Of its signature and its time. A bad signature is an attempt that failed; a good one is not,
// whatever has become of the token.
Result<TokenClaims> IdentityRequests::verify(std::string_view token,
                                             ConnectionIdentity& connection) {
  if (const TokenClaims* const claims = known_.find(token); claims != nullptr) {
    env_.metrics.tokens_from_cache.add();
    GCOORD_TRY_STATUS(security::check_token_time(*claims, now_s()));
    return *claims;
  }
  auto claims = keys_.tokens.verify(token, now_s());
  if (claims.ok()) {
    known_.add(token, claims.value());
  } else if (claims.status().detail() != security::kTokenExpired) {
    limits_.on_failure(connection, env_.now_ms());
  }
  return claims;
}

Status check_token_user(const UserDirectory& users, const TokenClaims& claims) {
  if (claims.roles_epoch > users.epoch()) {
    return protocol::make_error(ErrorCode::UsersBehind);
  }
  return proof_holds(users, claims.principal.name, claims.roles_epoch)
             ? Status{}
             : protocol::make_error(ErrorCode::TokenRevoked);
}

void IdentityRequests::check_token(const ClientRequest& request,
                                   ConnectionIdentity& connection,
                                   std::string_view token) {
  // A token cannot be guessed and costs little to check: a right one counts whoever else of the
  // address has failed how often.
  const bool throttled = !limits_.admits(connection, env_.now_ms());
  const auto claims = verify(token, connection);
  const Status status =
      claims.ok() ? check_token_user(env_.users, claims.value()) : claims.status();
  if (!status.ok() && throttled) {
    env_.metrics.throttled.add();
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationThrottled);
  }
  if (!status.ok()) {
    env_.metrics.tokens_bad.add();
    return refuse(request.connection, request.slot, static_cast<ErrorCode>(status.detail()));
  }
  env_.metrics.tokens_good.add();
  become(connection,
         claims.value().principal,
         {protocol::ProofKind::Token, claims.value().expires_s, claims.value().roles_epoch});
  const std::uint64_t now = now_s();
  const std::uint64_t expires_s = claims.value().expires_s;
  protocol::AuthenticateAnswer answer{.principal = connection.principal};
  // Clients renew when two thirds are over; who reconnects before that keeps what it has. Another
  // node's clock may be ahead of this one.
  const std::uint64_t proven = std::min(claims.value().proven_s, now);
  const std::uint64_t end =
      std::min(now + env_.token_life_s, proven + security::kTokenLifeSecondsMax);
  if (expires_s - now <= env_.token_life_s / 2 && end > expires_s) {
    TokenClaims next = claims.value();
    next.proven_s = proven;
    next.roles_epoch = env_.users.epoch();
    answer.token = keys_.tokens.issue(next, now, env_.token_life_s);
    answer.life_s = static_cast<std::uint32_t>(end - now);
    connection.proof.until_s = end;
  } else {
    answer.life_s = static_cast<std::uint32_t>(expires_s - now);
  }
  proven_.add(request.connection);
  env_.replies.reply(
      request.connection, protocol::reply_to(request.slot), protocol::encode_authenticated(answer));
}

void IdentityRequests::become(ConnectionIdentity& connection,
                              security::Principal principal,
                              const ConnectionProof& proof) {
  const bool was_known = connection.principal.kind != security::PrincipalKind::Anonymous;
  reidentified_ += was_known && connection.principal != principal ? 1 : 0;
  connection.principal = std::move(principal);
  connection.proof = proof;
}

void IdentityRequests::attach(const ClientRequest& request, ConnectionIdentity& connection) {
  if (request.slot.session == 0) {
    return refuse(request.connection, request.slot, ErrorCode::SessionZero);
  }
  if (keys_.sessions.empty()) {
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationUnsupported);
  }
  const SessionId session{request.slot.session};
  const auto key = security::SessionKey::decode(request.payload);
  if (!limits_.admits(connection, env_.now_ms())) {
    env_.metrics.throttled.add();
    return refuse(request.connection, request.slot, ErrorCode::AuthenticationThrottled);
  }
  if (!key.ok() || !keys_.sessions.fits(key.value(), session)) {
    env_.metrics.keys_wrong.add();
    limits_.on_failure(connection, env_.now_ms());
    return refuse(request.connection, request.slot, ErrorCode::SessionKeyInvalid);
  }
  if (!connection.attached.add(session)) {
    return refuse(request.connection, request.slot, ErrorCode::SessionsAttachedMax);
  }
  env_.metrics.attached.add();
  if (on_attached_) {
    on_attached_(request.connection, session);
  }
  // Who has a key of the secret before gets the newest, so that the next rotation finds no session
  // with a key that nobody remembers.
  const security::SessionKey newest = keys_.sessions.of(session);
  protocol::ReplySlot reply = protocol::reply_to(request.slot);
  reply.extra = session.value;
  env_.replies.reply(request.connection,
                     reply,
                     newest == key.value() ? std::span<const std::byte>{} : newest.bytes());
}

bool IdentityRequests::requires_keys() const {
  return mode_ == SessionKeyMode::Required ||
         (mode_ == SessionKeyMode::Auto && env_.users.enabled());
}

ErrorCode IdentityRequests::check(const ClientRequest& request) {
  if (mode_ == SessionKeyMode::Off || keys_.sessions.empty()) {
    return ErrorCode::None;
  }
  ConnectionIdentity* const connection = env_.connections.identity(request.connection);
  if (connection == nullptr) {
    return ErrorCode::None;
  }
  if (leaps(*connection, request.slot, env_.wall_us())) {
    env_.metrics.leaps.add();
    return ErrorCode::SequenceLeaps;
  }
  if (speaks_for(*connection, request.slot, request.payload)) {
    if (request.slot.kind == protocol::RequestKind::CloseSession) {
      connection->note_closed(SessionId{request.slot.session});
    }
    return ErrorCode::None;
  }
  env_.metrics.unattached.add();
  return requires_keys() ? ErrorCode::SessionNotAttached : ErrorCode::None;
}

bool IdentityRequests::has_attached(protocol::ConnectionId connection, SessionId session) const {
  const ConnectionIdentity* const known = env_.connections.identity(connection);
  return known != nullptr && known->attached.contains(session);
}

// What a connection came with was proven before this room heard of it. It can do nothing without a
// request, so its first one is early enough.
void IdentityRequests::note_certificate(protocol::ConnectionId connection) {
  ConnectionIdentity* const known = env_.connections.identity(connection);
  if (known != nullptr && !known->noted) {
    known->noted = true;
    if (known->proof.kind == protocol::ProofKind::Certificate) {
      proven_.add(connection);
    }
  }
}

bool IdentityRequests::admits(const ClientRequest& request) {
  note_certificate(request.connection);
  const ErrorCode error = check(request);
  if (error != ErrorCode::None) {
    refuse(request.connection, request.slot, error);
  }
  return error == ErrorCode::None;
}

// A grant of an id that a node gave repeats what stands already, whoever asks: whoever opened the
// session has its key.
std::span<const std::byte> IdentityRequests::on_opened(protocol::ConnectionId from,
                                                       const protocol::ReplySlot& reply) {
  const SessionId session{reply.extra};
  ConnectionIdentity* const connection = env_.connections.identity(from);
  if (connection == nullptr || mode_ == SessionKeyMode::Off || keys_.sessions.empty()) {
    return {};
  }
  protocol::RequestSlot opening;
  opening.kind = reply.kind;
  opening.session = session.value;
  if (session_use(opening) == SessionUse::Slot && !connection->attached.contains(session)) {
    return {};
  }
  // Without room the client attaches it with the key, and hears why it cannot.
  static_cast<void>(connection->attached.add(session));
  if (!connection->has(protocol::Feature::Identities)) {
    return {};
  }
  granted_ = keys_.sessions.of(session);
  return granted_.bytes();
}

void IdentityRequests::hash_password(std::string password,
                                     std::function<void(Result<security::Verifier>)> on_hashed) {
  const auto done = [on_hashed](const Result<std::string>& verifier) {
    on_hashed(verifier.ok() ? Result<security::Verifier>{table_verifier(verifier.value())}
                            : Result<security::Verifier>{protocol::make_error(
                                  ErrorCode::PasswordUnfit, verifier.status().message())});
  };
  if (!env_.passwords.hash(std::move(password), done)) {
    env_.metrics.queue_full.add();
    on_hashed(protocol::make_error(ErrorCode::AuthenticationBusy));
  }
}

std::string IdentityRequests::proven_user(protocol::ConnectionId connection) const {
  const security::Principal& principal = env_.replies.principal(connection);
  return security::may_be_user(principal.kind) ? principal.name : std::string{};
}

bool IdentityRequests::advance() {
  abandon_checks();
  bool any = env_.passwords.take_done();
  if (any) {
    env_.metrics.queue.set(static_cast<std::int64_t>(env_.passwords.queued()));
  }
  any = proven_.end_expired(now_s()) || any;
  if (proven_.end_outdated()) {
    ++reidentified_;
    return true;
  }
  return any;
}

}  // namespace gcoord::server
