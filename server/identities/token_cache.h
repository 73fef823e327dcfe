// Tokens that were found good lately, so that a client that comes again costs no signature.
//
// Keys are hashes of tokens (SHA-256), so that the node's memory holds no token of anybody. At most
// kTokensMax; the oldest goes first. The rights of a token may have ended since then: the caller
// judges times and users each time. One thread.
#pragma once

#include "security/credentials/token.h"

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <string_view>

namespace gcoord::server {

class TokenCache {
 public:
  static constexpr std::size_t kTokensMax = 16'384;

  // nullptr: not known.
  const security::TokenClaims* find(std::string_view token) const;

  void add(std::string_view token, const security::TokenClaims& claims);

  // After a change of the keys by which tokens are checked.
  void clear();

  std::size_t size() const { return known_.size(); }

 private:
  using Digest = std::array<std::byte, 32>;

  static Digest digest_of(std::string_view token);

  std::map<Digest, security::TokenClaims> known_;
  std::deque<Digest> oldest_first_;
};

}  // namespace gcoord::server
