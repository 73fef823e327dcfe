#include "common/name_hash.h"

#include "common/assert.h"

#include <openssl/sha.h>

#include <array>
#include <cstring>

namespace gcoord {

NameHash hash_name(std::string_view name) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  GCOORD_ASSERT(SHA256(bytes, name.size(), digest.data()) != nullptr);
  NameHash hash;
  std::memcpy(&hash.low, digest.data(), sizeof hash.low);
  std::memcpy(&hash.high, digest.data() + sizeof hash.low, sizeof hash.high);
  return hash;
}

}  // namespace gcoord
