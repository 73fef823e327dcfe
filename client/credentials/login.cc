#include "client/credentials/login.h"

#include "client/net/failure.h"
#include "protocol/error_codes.h"
#include "protocol/identities/authenticate_messages.h"
#include "security/credentials/password.h"
#include "security/credentials/token.h"
#include "security/secret/file.h"

#include <algorithm>
#include <array>
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

// The first of them that there is. A worn token is the last resort: each new one of a file, or of a
// password, lasts longer. Somebody else may have put another token into the file.
std::span<const Login::Source> Login::order() const {
  using enum Source;
  static constexpr std::array kGood{Own, Given, File, Password};
  static constexpr std::array kWorn{Password, File, Own, Given};
  static constexpr std::array kRefused{Password, File};
  switch (tokens_) {
    case Tokens::Good:
      return kGood;
    case Tokens::Worn:
      return kWorn;
    case Tokens::Refused:
      break;
  }
  return kRefused;
}

bool Login::has(Source source) const {
  switch (source) {
    case Source::Own:
      return !token_.empty();
    case Source::Given:
      return !credentials_.token.empty();
    case Source::File:
      return !credentials_.token_file.empty();
    case Source::Password:
      return !credentials_.user.empty() && !credentials_.password.empty();
    case Source::Nothing:
      break;
  }
  return false;
}

gcoord::Result<std::string> Login::token_of(Source source) const {
  if (source != Source::File) {
    return source == Source::Own ? token_ : credentials_.token;
  }
  const auto read =
      security::read_secret_file(credentials_.token_file, security::kTokenBytesMax + 2);
  if (!read.ok()) {
    return numbered(ErrorCode::CredentialsUnreadable, read.status().message());
  }
  return std::string{trimmed(read.value().text())};
}

gcoord::Result<Login::Choice> Login::choose() const {
  for (const Source source : order()) {
    if (!has(source)) {
      continue;
    }
    if (source == Source::Password) {
      return Choice{.source = source};
    }
    auto token = token_of(source);
    if (!token.ok()) {
      return token.status();
    }
    if (!token.value().empty()) {
      return Choice{.source = source, .token = std::move(token).value()};
    }
  }
  return nothing_left();
}

// A file that is there has no token in it: an empty one.
gcoord::Status Login::nothing_left() const {
  if (has(Source::File)) {
    return numbered(ErrorCode::CredentialsUnreadable, credentials_.token_file + " holds no token");
  }
  if (tokens_ == Tokens::Refused) {
    return numbered(refusal_, "the token is refused, and there is no password");
  }
  return numbered(ErrorCode::OptionMissing,
                  "the user " + credentials_.user + " has neither a password nor a token");
}

// Wipes the token.
Login::Proof Login::proof_of(Choice& choice) const {
  Proof proof;
  proof.shown = {choice.source, turn_};
  proof.payload = proof.shown.by_password()
                      ? protocol::encode_authenticate({.method = AuthenticateMethod::Password,
                                                       .user = credentials_.user,
                                                       .password = credentials_.password})
                      : protocol::encode_authenticate(
                            {.method = AuthenticateMethod::Token, .token = choice.token});
  security::wipe(choice.token);
  return proof;
}

gcoord::Result<Login::Proof> Login::next(Privacy privacy) const {
  if (!may_go_over(privacy)) {
    return numbered(ErrorCode::CredentialsExposed, "reached in plain TCP beyond loopback");
  }
  const std::lock_guard lock{mutex_};
  auto choice = choose();
  if (!choice.ok()) {
    return choice.status();
  }
  return proof_of(choice.value());
}

Login::Proof Login::early(Privacy privacy) const {
  if (!may_go_over(privacy)) {
    return {};
  }
  const std::lock_guard lock{mutex_};
  auto choice = choose();
  const bool is_token = choice.ok() && choice.value().source != Source::Password;
  return is_token ? proof_of(choice.value()) : Proof{};
}

// A file is shown besides a token that is worn: that one may still be good.
void Login::refuse_token(Source source, ErrorCode code) {
  if (source == Source::File && tokens_ == Tokens::Worn &&
      (has(Source::Own) || has(Source::Given))) {
    tokens_ = Tokens::Good;
    return;
  }
  security::wipe(token_);
  tokens_ = Tokens::Refused;
  refusal_ = code;
  ++turn_;
}

Login::Outcome Login::refused(const protocol::ReplySlot& slot, const Shown& shown) {
  const auto code = static_cast<ErrorCode>(slot.detail);
  const bool by_token = concerns_token(code);
  if (by_token && shown.turn == turn_) {
    refuse_token(shown.source, code);
  }
  const auto next = std::ranges::find_if(order(), [this](Source each) { return has(each); });
  const bool same = shown.source == Source::File && next != order().end() && *next == Source::File;
  const protocol::ErrorEntry* const known = protocol::find_error(slot.detail);
  return {.status = numbered(code, std::string{known != nullptr ? known->cause : kRefused}),
          .again = by_token && next != order().end() && !same};
}

// A token of half its time is renewed by whoever sees it, up to an end of which nodes do not speak.
// How long a file's token lasts says nothing of those that are worn or refused.
void Login::take_life(TimePoint end, TimePoint life, const Shown& shown) {
  const bool of_these = shown.source != Source::File || tokens_ == Tokens::Good;
  if (shown.turn != turn_ || !of_these) {
    return;
  }
  whole_life_ = shown.by_password() ? life : std::max(whole_life_, life);
  tokens_ = 2 * life < whole_life_ ? Tokens::Worn : Tokens::Good;
  expires_at_ = end;
}

Login::Outcome Login::take(const Heard& heard) {
  const auto& [slot, payload, now, shown] = heard;
  const std::lock_guard lock{mutex_};
  if (slot.code != gcoord::StatusCode::Ok) {
    return refused(slot, shown);
  }
  auto answer = protocol::decode_authenticated(payload);
  if (!answer.ok()) {
    return {.status =
                numbered(ErrorCode::ReplyMalformed, "its answer to the login cannot be decoded")};
  }
  protocol::AuthenticateAnswer& said = answer.value();
  Shown believed = shown;
  if (!said.token.empty()) {
    security::wipe(token_);
    token_ = std::move(said.token);
    tokens_ = Tokens::Good;
    believed.turn = ++turn_;
  }
  const TimePoint life =
      std::chrono::seconds{std::min<std::uint64_t>(said.life_s, security::kTokenLifeSecondsMax)};
  take_life(now + life, life, believed);
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
