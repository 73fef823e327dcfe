// Tokens, keys of sessions, verifiers of passwords and payloads of Authenticate, as anybody may
// send them before the node knows who it is.
//
// Each input is read as each of them. A token is also signed anew, as somebody who has the key
// might do with any claims, so that what stands behind the signature meets hostile bytes, too.
#include "common/base64.h"
#include "protocol/identities/authenticate_messages.h"
#include "security/credentials/password.h"
#include "security/credentials/principal.h"
#include "security/credentials/session_key.h"
#include "security/credentials/token.h"
#include "security/credentials/token_ring.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace gcoord;            // NOLINT: a program of its own.
using namespace gcoord::security;  // NOLINT

constexpr std::uint64_t kNow = 1'800'000'000;

const std::vector<std::byte> kSeed(kTokenSeedBytes, std::byte{5});

FuzzInput input_of(std::string_view text) {
  return {text.begin(), text.end()};
}

void judge_token(std::string_view text) {
  static const TokenRing kRing{kSeed, {}};
  static const TokenKey kKey{kSeed};
  const auto parsed = parse_token(text);
  if (!parsed.ok()) {
    GCOORD_ASSERT(!kRing.verify(text, kNow).ok());
    return;
  }
  const TokenClaims& claims = parsed.value().claims;
  GCOORD_ASSERT(principal_name_valid(claims.principal.name));
  const std::string again = kKey.issue(claims);
  GCOORD_ASSERT(again.size() <= kTokenBytesMax);
  const auto read = kRing.verify(again, kNow);
  if (read.ok()) {
    GCOORD_ASSERT(read.value() == claims && claims.expires_s > kNow);
  }
}

void judge_payload(std::span<const std::byte> payload) {
  if (const auto order = protocol::decode_authenticate(payload); order.ok()) {
    const auto again = protocol::encode_authenticate(order.value());
    GCOORD_ASSERT(std::ranges::equal(again, payload));
  }
  if (const auto answer = protocol::decode_authenticated(payload); answer.ok()) {
    const auto again = protocol::encode_authenticated(answer.value());
    GCOORD_ASSERT(protocol::decode_authenticated(again).value().token == answer.value().token);
  }
}

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  const auto* const start = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {start, start + bytes.size()};
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  const TokenRing ring{kSeed, {}};
  const TokenClaims claims{
      .principal = {PrincipalKind::User, "ann"}, .roles_epoch = 1, .proven_s = kNow};
  const SessionKey key = SessionKeys{kSeed, {}}.of(SessionId{9});
  const auto* const bytes = reinterpret_cast<const char*>(key.bytes().data());
  return {input_of(protocol::encode_authenticate({.method = protocol::AuthenticateMethod::Password,
                                                  .user = "ann",
                                                  .password = "open sesame"})),
          input_of(protocol::encode_authenticate({.method = protocol::AuthenticateMethod::Token,
                                                  .token = ring.issue(claims, kNow, 600)})),
          input_of(protocol::encode_authenticated({.principal = {PrincipalKind::User, "ann"},
                                                   .life_s = 600,
                                                   .token = ring.issue(claims, kNow, 600)})),
          input_of(ring.issue(claims, kNow, 600)),
          input_of(key.text()),
          input_of({bytes, key.bytes().size()}),
          input_of(hash_password("a", {4, 1, 1}).value()),
          input_of("gcoord://77/user/ann"),
          input_of("spiffe://trust/gcoord/77/node/1")};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* start, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(start), size};
  judge_token(text);
  judge_payload(std::as_bytes(std::span{text}));
  judge_token("gct1." + to_base64(std::as_bytes(std::span{text})));
  if (const auto key = SessionKey::parse(text); key.ok()) {
    GCOORD_ASSERT(SessionKey::parse(key.value().text()).value() == key.value());
  }
  if (const auto key = SessionKey::decode(std::as_bytes(std::span{text})); key.ok()) {
    GCOORD_ASSERT(key.value().bytes().size() == kSessionKeyBytes);
  }
  static_cast<void>(verifier_valid(text));
  const std::vector<std::string> names{std::string{text}};
  const Principal principal = principal_of({names, names, text}, ClusterId{77});
  GCOORD_ASSERT(principal.kind == PrincipalKind::Anonymous || principal_name_valid(principal.name));
  return 0;
}
