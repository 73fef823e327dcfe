// The stable numbers of this room's failures, printed to operators as GC6534 and documented for
// scripts. Never renumber. A Status of this folder carries exactly one of them in `detail`.
#pragma once

#include <cstdint>

namespace gcoord::security {

inline constexpr std::uint32_t kTokenMalformed = 6534;     // No token, or of an unknown algorithm.
inline constexpr std::uint32_t kTokenForeign = 6535;       // Not signed by this cluster.
inline constexpr std::uint32_t kTokenExpired = 6536;       // Its time is over, or not begun.
inline constexpr std::uint32_t kPasswordInvalid = 6539;    // No node takes it as a password.
inline constexpr std::uint32_t kSessionKeyInvalid = 6540;  // Not the session's key, or no key.

}  // namespace gcoord::security
