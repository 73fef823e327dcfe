#include "cli/terminal/duration.h"

#include "common/text/duration.h"

namespace gcoord::cli {

namespace {

constexpr std::uint64_t kDayMs = 86'400'000;

}  // namespace

bool beyond_a_day(std::string_view text) {
  return parse_milliseconds(text).value_or(0) > kDayMs;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto ms = parse_milliseconds(text);
  return ms.has_value() && *ms <= kDayMs ? std::optional{std::chrono::milliseconds(*ms)}
                                         : std::nullopt;
}

}  // namespace gcoord::cli
