// MACs (HMAC, RFC 2104, with SHA-256) and keys (HKDF, RFC 5869) that are made of a secret; and
// random bytes to make secrets of.
//
// The library of the algorithms has no failure here but want of memory or of the system's
// randomness: then the process ends, because nothing it could say next would be safe. Thread-safe.
#pragma once

#include "security/secret/bytes.h"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace gcoord::security {

inline constexpr std::size_t kMacBytes = 32;

// Of the parts one behind the other. Who gives parts of a variable length gives their lengths too,
// or two different lists have one MAC. The key is not empty.
SecretBytes hmac_sha256(std::span<const std::byte> key,
                        std::initializer_list<std::span<const std::byte>> parts);

// `count` bytes, 1 to 8160, for one purpose: keys of two purposes say nothing of one another.
SecretBytes hkdf_sha256(std::span<const std::byte> secret,
                        std::span<const std::byte> salt,
                        std::string_view purpose,
                        std::size_t count);

// From the system's generator, fit for keys.
void random_bytes(std::span<std::byte> out);
SecretBytes random_secret(std::size_t count);

}  // namespace gcoord::security
