// Times as verbs take them: common/text/duration.h, up to a day. Pure; thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace gcoord::cli {

// Empty for what is no time, and for more than a day.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Whether it is a time, but of more than a day.
bool beyond_a_day(std::string_view text);

}  // namespace gcoord::cli
