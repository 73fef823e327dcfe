#include "client/credentials/login.h"

#include "client/net/failure.h"
#include "protocol/error_codes.h"
#include "protocol/identities/authenticate_messages.h"
#include "security/credentials/password.h"
#include "security/credentials/token.h"
#include "security/secret/file.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::AuthenticateMethod;
using protocol::ErrorCode;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view{}
                            : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Of a number that only a later release knows.
constexpr std::string_view kRefused = "the node refused the credentials";

// Whether another token may be taken where this one was not.
bool concerns_token(ErrorCode code) {
  return code == ErrorCode::TokenMalformed || code == ErrorCode::TokenForeign ||
         code == ErrorCode::TokenExpired || code == ErrorCode::TokenRevoked;
}

}  // namespace

void wipe(Credentials& credentials) {
  for (std::string* secret : {&credentials.password, &credentials.token}) {
    secret->resize(secret->capacity());
    security::wipe(*secret);
  }
}

Login::~Login() {
  security::wipe(token_);
  client::wipe(credentials_);
}

bool Login::wanted() const {
  return !credentials_.user.empty() || !credentials_.token.empty() ||
         !credentials_.token_file.empty();
}

gcoord::Result<std::string> Login::token_to_show() const {
  if (has_password() && (worn_ || (token_refused_ && token_.empty()))) {
    return std::string{};
  }
  const bool file_is_better = worn_ && !credentials_.token_file.empty();
  std::string token = file_is_better ? std::string{} : token_;
  if (token.empty() && !token_refused_ && !file_is_better && !credentials_.token.empty()) {
    token = credentials_.token;
  }
  if (token.empty() && !credentials_.token_file.empty()) {
    const auto read =
        security::read_secret_file(credentials_.token_file, security::kTokenBytesMax + 2);
    if (!read.ok()) {
      return numbered(ErrorCode::CredentialsUnreadable, read.status().message());
    }
    token = trimmed(read.value().text());
  }
  if (token.empty() && !has_password()) {
    return numbered(ErrorCode::TokenExpired, "the token is refused, and there is no password");
  }
  return token;
}

// Wipes the token.
Login::Proof Login::proof_of(std::string& token) const {
  Proof proof{.by_password = token.empty(), .turn = turn_};
  proof.payload =
      token.empty()
          ? protocol::encode_authenticate({.method = AuthenticateMethod::Password,
                                           .user = credentials_.user,
                                           .password = credentials_.password})
          : protocol::encode_authenticate({.method = AuthenticateMethod::Token, .token = token});
  security::wipe(token);
  return proof;
}

gcoord::Result<Login::Proof> Login::next(Privacy privacy) const {
  if (!may_go_over(privacy)) {
    return numbered(ErrorCode::CredentialsExposed, "reached in plain TCP beyond loopback");
  }
  const std::lock_guard lock{mutex_};
  auto token = token_to_show();
  if (!token.ok()) {
    return token.status();
  }
  return proof_of(token.value());
}

Login::Proof Login::early(Privacy privacy) const {
  if (!may_go_over(privacy)) {
    return {};
  }
  const std::lock_guard lock{mutex_};
  auto token = token_to_show();
  return token.ok() && !token.value().empty() ? proof_of(token.value()) : Proof{};
}

Login::Outcome Login::refused(const protocol::ReplySlot& slot, std::uint64_t turn) {
  const auto code = static_cast<ErrorCode>(slot.detail);
  const bool by_token = concerns_token(code);
  const bool other = !token_.empty() || has_password();
  if (by_token && turn == turn_) {
    security::wipe(token_);
    token_refused_ = true;
    worn_ = false;
    ++turn_;
  }
  const protocol::ErrorEntry* const known = protocol::find_error(slot.detail);
  return {.status = numbered(code, std::string{known != nullptr ? known->cause : kRefused}),
          .again = by_token && other};
}

// A token of half its time is renewed by whoever sees it, up to an end of which nodes do not speak.
void Login::take_life(TimePoint life, bool by_password) {
  whole_life_ = by_password ? life : std::max(whole_life_, life);
  worn_ = 2 * life < whole_life_;
}

Login::Outcome Login::take(const Heard& heard) {
  const auto& [slot, payload, now, turn, by_password] = heard;
  const std::lock_guard lock{mutex_};
  if (slot.code != gcoord::StatusCode::Ok) {
    return refused(slot, turn.value_or(turn_));
  }
  auto answer = protocol::decode_authenticated(payload);
  if (!answer.ok()) {
    return {.status =
                numbered(ErrorCode::ReplyMalformed, "its answer to the login cannot be decoded")};
  }
  protocol::AuthenticateAnswer& said = answer.value();
  if (!said.token.empty()) {
    security::wipe(token_);
    token_ = std::move(said.token);
    token_refused_ = false;
    ++turn_;
  }
  const TimePoint life =
      std::chrono::seconds{std::min<std::uint64_t>(said.life_s, security::kTokenLifeSecondsMax)};
  take_life(life, by_password);
  expires_at_ = now + life;
  known_ = Identity{.kind = std::string{security::principal_kind_name(said.principal.kind)},
                    .name = std::move(said.principal.name)};
  return {.status = {}, .life = life};
}

std::optional<Identity> Login::identity(TimePoint now) const {
  const std::lock_guard lock{mutex_};
  if (!known_) {
    return std::nullopt;
  }
  Identity identity = *known_;
  identity.token = token_.empty() ? credentials_.token : token_;
  identity.token_left = std::chrono::duration_cast<std::chrono::seconds>(
      expires_at_ > now ? expires_at_ - now : TimePoint{});
  return identity;
}

}  // namespace gcoord::client
