#include "security/credentials/token_ring.h"

#include "security/credentials/error_details.h"

#include <algorithm>

namespace gcoord::security {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

Status refuse(std::string_view why, std::uint32_t number) {
  return Status{StatusCode::Unauthenticated, std::string{why}, number};
}

}  // namespace

TokenRing::TokenRing(std::span<const std::byte> current, std::span<const std::byte> previous) {
  keys_.emplace_back(current);
  if (!previous.empty()) {
    keys_.emplace_back(previous);
  }
}

std::string TokenRing::issue(TokenClaims claims, std::uint64_t now_s, std::uint64_t life_s) const {
  GCOORD_ASSERT(!keys_.empty() && claims.proven_s <= now_s);
  claims.issued_s = now_s;
  claims.expires_s = std::min(now_s + std::min(life_s, kTokenLifeSecondsMax),
                              claims.proven_s + kTokenLifeSecondsMax);
  return keys_.front().issue(claims);
}

Result<TokenClaims> TokenRing::verify(std::string_view text, std::uint64_t now_s) const {
  GCOORD_TRY(ParsedToken token, parse_token(text));
  const auto key = std::ranges::find(keys_, token.key_id, &TokenKey::id);
  if (key == keys_.end() ||
      !key->verifies(bytes_of(token.signed_bytes), bytes_of(token.signature))) {
    return refuse("the token was not signed by this cluster", kTokenForeign);
  }
  GCOORD_TRY_STATUS(check_token_time(token.claims, now_s));
  return std::move(token.claims);
}

Status check_token_time(const TokenClaims& claims, std::uint64_t now_s) {
  const bool ordered = claims.proven_s <= claims.issued_s && claims.issued_s <= claims.expires_s &&
                       claims.expires_s - claims.proven_s <= kTokenLifeSecondsMax;
  if (!ordered || now_s >= claims.expires_s) {
    return refuse("the time of the token is over", kTokenExpired);
  }
  if (claims.issued_s > now_s + kTokenClockSkewSeconds) {
    return refuse("the token was issued in the future of this node", kTokenExpired);
  }
  return Status{};
}

}  // namespace gcoord::security
