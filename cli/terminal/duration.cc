#include "cli/terminal/duration.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace gcoord::cli {

namespace {

// 0 for what is no unit.
std::int64_t factor_of(std::string_view unit) {
  return unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
}

}  // namespace

bool beyond_a_day(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && factor_of(text.substr(digits)) != 0 && !parse_duration(text).has_value();
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::uint32_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  // Nothing is nothing in every unit.
  const std::int64_t factor = amount == 0 && unit.empty() ? 1 : factor_of(unit);
  constexpr std::int64_t kDayMs = 86'400'000;
  const std::int64_t ms = std::int64_t{amount} * factor;
  if (factor == 0 || ms > kDayMs) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(ms);
}

}  // namespace gcoord::cli
