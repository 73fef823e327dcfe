// Lines of a screen with the escape sequences of their looks. Pure; any thread.
#pragma once

#include "cli/top/view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli::top {

// Attributes: no colors, but bold, reverse and faint (NO_COLOR, https://no-color.org).
enum class Paint : std::uint8_t { Colors, Attributes };

std::vector<std::string> painted(const std::vector<Line>& lines, Paint paint);

}  // namespace gcoord::cli::top
