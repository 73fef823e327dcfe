#include "cli/top/figures.h"

#include "common/text/cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace gcoord::cli::top {

namespace {

constexpr std::array<std::string_view, 9> kBars = {
    " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<std::string_view, 9> kAsciiBars = {
    " ", "_", ".", "-", "~", "=", "+", "*", "#"};

std::string printed(const char* format, double value, std::string_view unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text + std::string{unit};
}

// Three digits that count.
std::string three_digits(double value, std::string_view unit) {
  return printed(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value, unit);
}

std::string whole(double value) {
  return value < 999'999.5   ? printed("%.0f", value, "")
         : value < 999.995e6 ? three_digits(value / 1e6, "M")
                             : three_digits(std::min(value / 1e9, 1e9), "G");
}

// A level that is no whole number, as that of a suspicion, keeps a digit.
std::string level_text(double value) {
  return value == std::floor(value) ? whole(value) : printed("%.1f", std::min(value, 1e9), "");
}

std::string rate_text(double value) {
  return value < 9'999.95 ? printed("%.1f", value, "") : whole(value);
}

std::string seconds_text(double value) {
  return value < 0.9995e-3 ? printed("%.0f", value * 1e6, " us")
         : value < 0.9995  ? three_digits(value * 1e3, " ms")
                           : three_digits(std::min(value, 1e9), " s");
}

std::string bytes_text(double value) {
  constexpr std::array<std::string_view, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t power = 0;
  while (value >= 1023.5 && power + 1 < kUnits.size()) {
    value /= 1024;
    ++power;
  }
  const std::string number =
      power == 0 ? printed("%.0f", value, "") : three_digits(std::min(value, 1e9), "");
  return number + std::string{kUnits[power]};
}

// Groups lie where they lay a sample ago, so that the line moves by whole cells.
std::vector<std::optional<double>> grouped(const History& history, std::size_t cells) {
  const std::size_t size = cells == 0 ? kHistorySamples : (kHistorySamples + cells - 1) / cells;
  std::vector<std::optional<double>> groups;
  for (std::size_t k = 0; k < history.size(); ++k) {
    if (k == 0 || (history.forgotten() + k) % size == 0) {
      groups.emplace_back();
    }
    if (const auto value = history.at(k); value.has_value()) {
      groups.back() = std::max(groups.back().value_or(0), *value);
    }
  }
  if (groups.size() > cells) {
    groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(cells));
  }
  return groups;
}

}  // namespace

std::string figure(std::optional<double> value, Unit unit) {
  if (!value.has_value()) {
    return "-";
  }
  switch (unit) {
    case Unit::Count:
      return level_text(*value);
    case Unit::PerSecond:
      return rate_text(*value);
    case Unit::Seconds:
      return seconds_text(*value);
    case Unit::Bytes:
    case Unit::BytesPerSecond:
      return bytes_text(*value);
    case Unit::Ratio:
      return printed("%.0f", std::min(*value * 100, 1e9), " %");
    case Unit::Watts:
      return printed("%.0f", std::min(*value, 1e9), " W");
    case Unit::Celsius:
      return printed("%.0f", std::min(*value, 1e9), " C");
  }
  return "-";
}

std::string age_text(std::uint64_t ms) {
  const std::uint64_t seconds = ms / 1000;
  return seconds < 120     ? std::to_string(seconds) + " s"
         : seconds < 7'200 ? std::to_string(seconds / 60) + " min"
                           : std::to_string(seconds / 3'600) + " h";
}

std::string sparkline(const History& history, std::size_t cells, bool ascii) {
  const std::vector<std::optional<double>> groups = grouped(history, cells);
  double top = 0;
  for (const auto& each : groups) {
    top = std::max(top, each.value_or(0));
  }
  const auto& bars = ascii ? kAsciiBars : kBars;
  std::string line(cells - groups.size(), ' ');
  for (const auto& each : groups) {
    // A known sample is never blank: nothing happened is not the same as nothing is known.
    const double share = top > 0 ? each.value_or(0) / top : 0;
    line += each.has_value() ? bars[static_cast<std::size_t>(1 + std::lround(share * 7))] : bars[0];
  }
  return line;
}

std::string padded(std::string_view text, std::size_t cells, Side side) {
  const std::string_view kept = fitting(text, cells);
  const std::string fill(cells - cells_of(kept), ' ');
  return side == Side::Left ? std::string{kept} + fill : fill + std::string{kept};
}

}  // namespace gcoord::cli::top
