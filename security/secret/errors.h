// The stable numbers of this room's failures (protocol/error_codes.h has them all). Never renumber.
#pragma once

#include <cstdint>

namespace gcoord::security {

inline constexpr std::uint32_t kSecretFileUnsafe = 3120;      // Others may read or change it.
inline constexpr std::uint32_t kSecretFileUnreadable = 3121;  // Not there, or the disk failed.
inline constexpr std::uint32_t kSecretMalformed = 3122;       // Not the text of a cluster's secret.
inline constexpr std::uint32_t kSecretFileExists = 3123;      // No secret is written over another.
inline constexpr std::uint32_t kSecretFileUnwritten = 3124;   // The disk did not take it.
inline constexpr std::uint32_t kSealBroken = 3127;            // Another key, or changed bytes.

}  // namespace gcoord::security
