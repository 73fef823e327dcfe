// Moments as tables show them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace gcoord::cli {

// "2026-11-29T10:00:00Z" of Unix milliseconds: RFC 3339, in seconds. What no calendar can say is
// "N ms".
std::string utc_text(std::uint64_t unix_ms);

}  // namespace gcoord::cli
