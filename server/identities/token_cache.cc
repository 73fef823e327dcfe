#include "server/identities/token_cache.h"

#include <openssl/sha.h>

namespace gcoord::server {

TokenCache::Digest TokenCache::digest_of(std::string_view token) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()),
         token.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

const security::TokenClaims* TokenCache::find(std::string_view token) const {
  const auto found = known_.find(digest_of(token));
  return found == known_.end() ? nullptr : &found->second;
}

void TokenCache::add(std::string_view token, const security::TokenClaims& claims) {
  const Digest digest = digest_of(token);
  if (!known_.emplace(digest, claims).second) {
    return;
  }
  oldest_first_.push_back(digest);
  if (oldest_first_.size() > kTokensMax) {
    known_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
}

void TokenCache::clear() {
  known_.clear();
  oldest_first_.clear();
}

}  // namespace gcoord::server
