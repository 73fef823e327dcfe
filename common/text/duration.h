// Times as operators write them: 500ms, 1.5s, 1h30m, 1d. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord {

// Milliseconds of one or more numbers with a unit of d, h, m, s or ms, each unit below the one
// before it. A number may have digits behind a point as long as whole milliseconds come of it.
// Nothing for anything else, also for a number without a unit, which would be a guess; but 0 is 0
// in every unit. The highest number for what 64 bits cannot hold.
std::optional<std::uint64_t> parse_milliseconds(std::string_view text);

}  // namespace gcoord
