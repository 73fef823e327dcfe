// A sealed message: encrypted and authenticated with one key (AES-256-GCM, NIST SP 800-38D).
//
// The bytes are {algorithm u8 = 1, nonce 12, ciphertext, tag 16}. A nonce is random, so one key
// seals at most 2^32 messages; the keys here seal one or a few. `context` is not sent but must be
// the same at both ends: it says what the message is for, so that it is of no use elsewhere.
// Thread-safe.
#pragma once

#include "common/status.h"
#include "security/secret/bytes.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::security {

inline constexpr std::uint8_t kSealAlgorithm = 1;
inline constexpr std::size_t kSealKeyBytes = 32;
// What a sealed message has more than the plain one.
inline constexpr std::size_t kSealBytes = 1 + 12 + 16;

// `key` has kSealKeyBytes.
std::vector<std::byte> seal(std::span<const std::byte> key,
                            std::span<const std::byte> context,
                            std::span<const std::byte> plain);

// GC3127 for everything that `seal` did not make with this key and this context.
Result<SecretBytes> open_seal(std::span<const std::byte> key,
                              std::span<const std::byte> context,
                              std::span<const std::byte> sealed);

}  // namespace gcoord::security
