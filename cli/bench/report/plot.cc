#include "cli/bench/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gcoord::cli {

namespace {

constexpr double kWidth = 880;
constexpr double kHeight = 300;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 44;
constexpr double kBottom = 44;
constexpr int kTicks = 5;
constexpr double kNameWidth = 150;

// One axis: from values to places on the paper.
struct Axis {
  PlotScale scale = PlotScale::Linear;
  double least = 0;
  double most = 1;
  double from = 0;  // The place of `least`.
  double to = 0;

  bool shows(double value) const {
    return std::isfinite(value) && (scale == PlotScale::Linear || value > 0);
  }

  double share(double value) const {
    return scale == PlotScale::Linear
               ? (value - least) / (most - least)
               : (std::log10(value) - std::log10(least)) / (std::log10(most) - std::log10(least));
  }

  double place(double value) const { return from + (to - from) * share(value); }
};

// The next of 1, 2 and 5 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (step <= times * power) {
      return times * power;
    }
  }
  return 10 * power;
}

std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  if (axis.scale == PlotScale::Logarithmic) {
    for (double tick = axis.least; tick <= axis.most * 1.001; tick *= 10) {
      ticks.push_back(tick);
    }
    return ticks;
  }
  const double step = round_step((axis.most - axis.least) / kTicks);
  for (int i = 0; axis.least + i * step <= axis.most * 1.001; ++i) {
    ticks.push_back(axis.least + i * step);
  }
  return ticks;
}

// Of what the lines show; linear ones begin with 0, logarithmic ones with a power of ten.
Axis axis_of(const Plot& plot, PlotScale scale, double PlotPoint::*value) {
  Axis axis;
  axis.scale = scale;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      if (axis.shows(point.*value)) {
        least = std::min(least, point.*value);
        most = std::max(most, point.*value);
      }
    }
  }
  if (scale == PlotScale::Linear) {
    const double step = most > 0 ? round_step(most / kTicks) : 1;
    axis.most = step * std::max(1.0, std::ceil(most / step - 1e-9));
    return axis;
  }
  axis.least = std::isfinite(least) ? std::pow(10, std::floor(std::log10(least))) : 1;
  axis.most = most > axis.least ? std::pow(10, std::ceil(std::log10(most))) : axis.least * 10;
  return axis;
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : ticks_of(x)) {
    const double at = x.place(tick);
    svg += fmt::format(R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)",
                       at,
                       kTop,
                       kHeight - kBottom);
    svg += fmt::format(R"(<text class="label" x="{:.1f}" y="{}" text-anchor="middle">{:g}</text>)",
                       at,
                       kHeight - kBottom + 16,
                       tick);
  }
  for (const double tick : ticks_of(y)) {
    const double at = y.place(tick);
    svg += fmt::format(R"(<line class="grid" x1="{1}" x2="{2}" y1="{0:.1f}" y2="{0:.1f}"/>)",
                       at,
                       kLeft,
                       kWidth - kRight);
    svg += fmt::format(R"(<text class="label" x="{}" y="{:.1f}" text-anchor="end">{:g}</text>)",
                       kLeft - 8,
                       at + 4,
                       tick);
  }
  return svg;
}

std::string drawn(const PlotLine& line, const Axis& x, const Axis& y) {
  std::string points;
  for (const PlotPoint& point : line.points) {
    if (x.shows(point.x) && y.shows(point.y)) {
      points += fmt::format("{:.1f},{:.1f} ", x.place(point.x), y.place(point.y));
    }
  }
  return points.empty()
             ? ""
             : fmt::format(
                   R"(<polyline class="line {}" points="{}"/>)", xml_text(line.style), points);
}

std::string names(const Plot& plot) {
  std::string svg;
  double at = kLeft;
  for (const PlotLine& line : plot.lines) {
    svg += fmt::format(
        R"(<line class="line {}" x1="{}" x2="{}" y1="32" y2="32"/><text class="label" x="{}" y="36">{}</text>)",
        xml_text(line.style),
        at,
        at + 18,
        at + 24,
        xml_text(line.name));
    at += kNameWidth;
  }
  return svg;
}

}  // namespace

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char each : text) {
    switch (each) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += static_cast<unsigned char>(each) < 0x20 ? "\xef\xbf\xbd" : std::string(1, each);
    }
  }
  return escaped;
}

std::string plot_svg(const Plot& plot) {
  Axis x = axis_of(plot, plot.x_scale, &PlotPoint::x);
  Axis y = axis_of(plot, plot.y_scale, &PlotPoint::y);
  x.from = kLeft;
  x.to = kWidth - kRight;
  y.from = kHeight - kBottom;
  y.to = kTop;
  std::string svg = fmt::format(
      R"(<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" role="img"><title>{2}</title><rect class="paper" width="{0}" height="{1}"/><text class="heading" x="{3}" y="18">{2}</text>)",
      kWidth,
      kHeight,
      xml_text(plot.title),
      kLeft);
  svg += names(plot) + grid(x, y);
  for (const PlotLine& line : plot.lines) {
    svg += drawn(line, x, y);
  }
  svg += fmt::format(
      R"(<text class="label" x="{}" y="{}" text-anchor="end">{}</text><text class="label" x="{}" y="18" text-anchor="end">{}</text></svg>)",
      kWidth - kRight,
      kHeight - 8,
      xml_text(plot.x_name),
      kWidth - kRight,
      xml_text(plot.y_name));
  return svg;
}

}  // namespace gcoord::cli
