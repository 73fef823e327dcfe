#include "common/text/duration.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace gcoord {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Digits behind the point: a millisecond is the 86,400,000th part of a day.
constexpr std::size_t kFractionDigitsMax = 9;

// 0 for what is no unit.
std::uint64_t factor_of(std::string_view unit) {
  return unit == "ms"  ? 1
         : unit == "s" ? 1000
         : unit == "m" ? 60'000
         : unit == "h" ? 3'600'000
         : unit == "d" ? 86'400'000
                       : 0;
}

// The front of the text as long as it has such characters; it leaves the text.
std::string_view take(std::string_view& text, std::string_view characters) {
  const std::size_t end = std::min(text.find_first_not_of(characters), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(end);
  return front;
}

std::uint64_t number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc{} ? number : kMost;
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return a > kMost / b ? kMost : a * b;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > kMost - b ? kMost : a + b;
}

// ".25" of a unit; nothing when that is no whole number of milliseconds.
std::optional<std::uint64_t> fraction_of(std::string_view digits, std::uint64_t factor) {
  if (digits.size() > kFractionDigitsMax) {
    return std::nullopt;
  }
  std::uint64_t parts = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    parts *= 10;
  }
  const std::uint64_t product = number_of(digits) * factor;
  return product % parts == 0 ? std::optional{product / parts} : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_milliseconds(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text == "0") {
    return 0;
  }
  std::uint64_t total = 0;
  std::uint64_t above = kMost;  // The factor of the number before.
  do {
    const std::string_view whole = take(text, kDigits);
    std::string_view fraction;
    const bool pointed = text.starts_with('.');
    if (pointed) {
      text.remove_prefix(1);
      fraction = take(text, kDigits);
    }
    const std::uint64_t factor = factor_of(take(text, "dhms"));
    if (whole.empty() || (pointed && fraction.empty()) || factor == 0 || factor >= above) {
      return std::nullopt;
    }
    const auto part = pointed ? fraction_of(fraction, factor) : std::optional<std::uint64_t>{0};
    if (!part.has_value()) {
      return std::nullopt;
    }
    total = sum(total, sum(product(number_of(whole), factor), *part));
    above = factor;
  } while (!text.empty());
  return total;
}

}  // namespace gcoord
