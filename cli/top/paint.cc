#include "cli/top/paint.h"

namespace gcoord::cli::top {

namespace {

// ECMA-48, SGR: 1 bold, 2 faint, 7 reverse, 31 red, 36 cyan.
std::string_view sequence_of(Style style, Paint paint) {
  const bool colors = paint == Paint::Colors;
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Title:
      return "\x1b[1m";
    case Style::Heading:
      return colors ? "\x1b[1;36m" : "\x1b[1m";
    case Style::Selected:
      return "\x1b[7m";
    case Style::Alarm:
      return colors ? "\x1b[1;31m" : "\x1b[1m";
    case Style::Faint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

std::vector<std::string> painted(const std::vector<Line>& lines, Paint paint) {
  std::vector<std::string> texts;
  for (const Line& each : lines) {
    const std::string_view begin = sequence_of(each.style, paint);
    texts.push_back(begin.empty() ? each.text : std::string{begin} + each.text + "\x1b[0m");
  }
  return texts;
}

}  // namespace gcoord::cli::top
