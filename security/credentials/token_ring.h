// The keys by which a cluster's tokens are signed and checked: that of its secret, and that of the
// one before while it is kept, so that a change of the secret ends no token early.
//
// Pure: the time is a parameter. Values; thread-safe once made.
#pragma once

#include "common/status.h"
#include "security/credentials/token.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

class TokenRing {
 public:
  // None: the cluster has no secret, so it neither signs nor believes tokens.
  TokenRing() = default;

  // Seeds of kTokenSeedBytes; `previous` may be empty.
  TokenRing(std::span<const std::byte> current, std::span<const std::byte> previous);

  bool empty() const { return keys_.empty(); }

  // Of `claims` for `life_s` from now, but not beyond kTokenLifeSecondsMax from when the password
  // was shown; not empty. `claims.proven_s` is not above now; the other times are set here.
  std::string issue(TokenClaims claims, std::uint64_t now_s, std::uint64_t life_s) const;

  // What a token says, if it was signed by one of the keys and its time is now: kTokenMalformed,
  // kTokenForeign or kTokenExpired.
  Result<TokenClaims> verify(std::string_view text, std::uint64_t now_s) const;

 private:
  std::vector<TokenKey> keys_;  // The newest first.
};

// Whether a token's time is now: kTokenExpired.
Status check_token_time(const TokenClaims& claims, std::uint64_t now_s);

}  // namespace gcoord::security
