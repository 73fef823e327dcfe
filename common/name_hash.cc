// OpenSSL 3 deprecates the direct functions in favour of EVP, whose one-shot SHA256() fetches the
// algorithm by name at every call: five times the cost of hashing a short name.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "common/name_hash.h"

#include "common/assert.h"

#include <openssl/sha.h>

#include <array>
#include <cstring>

namespace gcoord {

NameHash hash_name(std::string_view name) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX state;
  GCOORD_ASSERT(SHA256_Init(&state) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, name.data(), name.size()) == 1);
  GCOORD_ASSERT(SHA256_Final(digest.data(), &state) == 1);
  NameHash hash;
  std::memcpy(&hash.low, digest.data(), sizeof hash.low);
  std::memcpy(&hash.high, digest.data() + sizeof hash.low, sizeof hash.high);
  return hash;
}

}  // namespace gcoord
