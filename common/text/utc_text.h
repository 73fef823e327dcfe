// Moments as tables show them. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gcoord {

// "2026-11-29T10:00:00Z" of Unix milliseconds: RFC 3339, in seconds. What no calendar can say is
// "N ms".
std::string utc_text(std::uint64_t unix_ms);

// Milliseconds since 1970-01-01T00:00:00Z.
inline std::uint64_t unix_ms(std::chrono::system_clock::time_point time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace gcoord
