#include "ledger/base/keep_policy.h"

#include "common/text/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

namespace gcoord::ledger {
namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr std::array<Unit, 1> kEntryUnits = {{{"", 1}}};
constexpr std::array<Unit, 5> kByteUnits = {{{"TiB", std::uint64_t{1} << 40},
                                             {"GiB", std::uint64_t{1} << 30},
                                             {"MiB", std::uint64_t{1} << 20},
                                             {"KiB", std::uint64_t{1} << 10},
                                             {"", 1}}};
constexpr std::array<Unit, 5> kAgeUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

Status invalid(std::string_view text) {
  return {StatusCode::InvalidArgument,
          "\"" + std::string(text) +
              "\" is none of all, entries:N, bytes:N[KiB|MiB|GiB|TiB], age:TIME"};
}

Status parse_number(std::string_view text, std::span<const Unit> units, std::uint64_t& value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::find_if(
      units.begin(), units.end(), [rest](const Unit& each) { return each.first == rest; });
  if (error != std::errc{} || number == 0 || unit == units.end() ||
      number > std::numeric_limits<std::uint64_t>::max() / unit->second) {
    return invalid(text);
  }
  value = number * unit->second;
  return {};
}

Status parse_age(std::string_view text, std::uint64_t& age_ms) {
  const auto ms = parse_milliseconds(text);
  if (ms.value_or(0) == 0 || *ms == std::numeric_limits<std::uint64_t>::max()) {
    return invalid(text);
  }
  age_ms = *ms;
  return {};
}

Status parse_bound(std::string_view text, KeepPolicy& policy) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view number = colon == text.npos ? "" : text.substr(colon + 1);
  if (name == "entries") {
    return parse_number(number, kEntryUnits, policy.entries);
  }
  if (name == "bytes") {
    return parse_number(number, kByteUnits, policy.bytes);
  }
  return name == "age" ? parse_age(number, policy.age_ms) : invalid(text);
}

std::string number_text(std::uint64_t value, std::span<const Unit> units) {
  const auto unit = std::find_if(
      units.begin(), units.end(), [value](const Unit& each) { return value % each.second == 0; });
  return std::to_string(value / unit->second) + std::string(unit->first);
}

}  // namespace

Result<KeepPolicy> parse_keep_policy(std::string_view text) {
  KeepPolicy policy;
  if (text == "all") {
    return policy;
  }
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    GCOORD_TRY_STATUS(parse_bound(rest.substr(0, comma), policy));
    if (comma == rest.npos) {
      return policy;
    }
    rest = rest.substr(comma + 1);
  }
}

Result<std::uint64_t> parse_bytes_max(std::string_view text) {
  std::uint64_t bytes = 0;
  if (text != "all" && !parse_number(text, kByteUnits, bytes).ok()) {
    return Status{StatusCode::InvalidArgument,
                  "\"" + std::string(text) + "\" is neither all nor N[KiB|MiB|GiB|TiB]"};
  }
  return bytes;
}

std::string bytes_max_text(std::uint64_t bytes_max) {
  return bytes_max == 0 ? "all" : number_text(bytes_max, kByteUnits);
}

std::string keep_policy_text(const KeepPolicy& policy) {
  if (policy.keeps_all()) {
    return "all";
  }
  std::string text;
  const auto add = [&text](
                       std::string_view name, std::uint64_t value, std::span<const Unit> units) {
    if (value != 0) {
      text += (text.empty() ? "" : ",") + std::string(name) + ":" + number_text(value, units);
    }
  };
  add("entries", policy.entries, kEntryUnits);
  add("bytes", policy.bytes, kByteUnits);
  add("age", policy.age_ms, kAgeUnits);
  return text;
}

}  // namespace gcoord::ledger
