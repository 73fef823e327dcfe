#include "cli/doctor/facts.h"

#include <charconv>

namespace gcoord::cli {
namespace {

std::optional<std::uint64_t> number_of(const Json* json) {
  if (json == nullptr || !(json->is_string() || json->is_integer())) {
    return std::nullopt;
  }
  const std::string digits = json->is_string() ? json->text() : json->dump();
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == end;
  return whole ? std::optional{number} : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> NodeFacts::number(std::string_view name) const {
  return number_of(report.find(name));
}

std::optional<std::uint64_t> NodeFacts::number(std::string_view group,
                                               std::string_view name) const {
  const Json* inner = report.find(group);
  return inner == nullptr ? std::nullopt : number_of(inner->find(name));
}

std::string NodeFacts::text(std::string_view name) const {
  return report.value(name, std::string{});
}

std::optional<ClockOffset> clock_offset(const NodeFacts& facts) {
  const auto wall_ms = facts.number("wall_ms");
  if (!wall_ms.has_value() || facts.answered_ms < facts.asked_ms) {
    return std::nullopt;
  }
  const std::uint64_t way_ms = facts.answered_ms - facts.asked_ms;
  return ClockOffset{static_cast<std::int64_t>(*wall_ms - (facts.asked_ms + way_ms / 2)),
                     way_ms / 2 + 1};
}

}  // namespace gcoord::cli
