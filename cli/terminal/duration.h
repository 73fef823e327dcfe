// Times as operators write them: 500ms, 5s, 2m, 1h. Pure; thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace gcoord::cli {

// Empty for anything else, for a number without a unit, and for more than a day.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Whether it is a number with a unit, but of more than a day.
bool beyond_a_day(std::string_view text);

}  // namespace gcoord::cli
