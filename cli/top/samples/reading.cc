#include "cli/top/samples/reading.h"

#include <charconv>
#include <cmath>

namespace gcoord::cli::top {

std::optional<double> NodeReading::number(std::string_view group, std::string_view name) const {
  const Json* outer = group.empty() ? &report : report.find(group);
  const Json* found = outer == nullptr ? nullptr : outer->find(name);
  if (found == nullptr || !(found->is_string() || found->is_integer())) {
    return std::nullopt;
  }
  const std::string digits = found->is_string() ? found->text() : found->dump();
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  const bool sound =
      parsed.ec == std::errc{} && parsed.ptr == end && std::isfinite(value) && value >= 0;
  return sound ? std::optional{value} : std::nullopt;
}

bool same_life(const NodeReading& before, const NodeReading& now) {
  return before.answered() && now.answered() &&
         before.number("", "incarnation") == now.number("", "incarnation");
}

}  // namespace gcoord::cli::top
