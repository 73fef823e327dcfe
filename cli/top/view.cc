#include "cli/top/view.h"

#include "cli/top/figures.h"
#include "common/text/cells.h"
#include "common/utf8.h"

#include <algorithm>

namespace gcoord::cli::top {

namespace {

constexpr std::size_t kRowsForKeys = 8;  // On lower screens every line is for the cluster.
constexpr std::string_view kKeys =
    "? help  q quit  Enter open  Esc back  <> sort  r reverse  +- time  space pause";

bool has_key_line(const Frame& frame) {
  return frame.rows >= kRowsForKeys;
}

// The first line of the body to be shown: the selected one is the last at the latest.
std::size_t first_line(const PageText& page,
                       const Navigation& navigation,
                       std::size_t fitting_rows) {
  const auto selected = navigation.selected_row(targets_of(page));
  if (!selected.has_value() || *selected == 0) {
    return 0;  // With the headings above the first row.
  }
  std::size_t row = 0;
  std::size_t line = 0;
  for (; line < page.body.size(); ++line) {
    if (page.body[line].target.has_value() && row++ == *selected) {
      break;
    }
  }
  return line < fitting_rows ? 0 : line - fitting_rows + 1;
}

Line marked(const BodyRow& row, bool selected) {
  if (!row.target.has_value()) {
    return row.line;
  }
  Line line{(selected ? "> " : "  ") + row.line.text, row.line.style};
  line.style = selected ? Style::Selected : row.line.style;
  return line;
}

// In as many cells. A terminal that takes the bytes of UTF-8 one by one has controls among them.
std::string in_ascii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const Utf8Character first = utf8_first(text);
    const std::string_view character = text.substr(0, first.bytes);
    const bool is_ascii = first.well_formed && first.code_point < 0x80;
    ascii += is_ascii ? std::string{character} : std::string(cells_of(character), '?');
    text.remove_prefix(first.bytes);
  }
  return ascii;
}

void cut(std::vector<Line>& lines, const Frame& frame) {
  lines.resize(std::min(lines.size(), frame.rows));
  for (Line& each : lines) {
    if (frame.ascii) {
      each.text = in_ascii(each.text);
    }
    each.text = std::string{fitting(each.text, frame.columns)};
  }
}

}  // namespace

PageText page_text(const Model& model, const Navigation& navigation, const Frame& frame) {
  switch (navigation.here().page) {
    case Page::Overview:
      return overview_text(model, navigation, frame);
    case Page::Node:
      return node_text(model, navigation, frame);
    case Page::Name:
      return name_text(model, navigation, frame);
  }
  return {};
}

std::vector<Target> targets_of(const PageText& page) {
  std::vector<Target> targets;
  for (const BodyRow& each : page.body) {
    if (each.target.has_value()) {
      targets.push_back(*each.target);
    }
  }
  return targets;
}

std::size_t body_rows(const PageText& page, const Frame& frame) {
  const std::size_t others = page.head.size() + (has_key_line(frame) ? 1 : 0);
  return frame.rows - std::min(frame.rows, others);
}

std::vector<Line> screen_of(const Model& model, const Navigation& navigation, const Frame& frame) {
  if (navigation.help()) {
    std::vector<Line> lines = help_text();
    cut(lines, frame);
    return lines;
  }
  const PageText page = page_text(model, navigation, frame);
  const std::size_t rows = body_rows(page, frame);
  const auto selected = navigation.selected_row(targets_of(page));
  const std::size_t first = first_line(page, navigation, rows);
  std::vector<Line> lines = page.head;
  std::size_t row = 0;
  for (std::size_t k = 0; k < page.body.size(); ++k) {
    const bool is_selected = page.body[k].target.has_value() && selected == row;
    row += page.body[k].target.has_value() ? 1 : 0;
    if (k >= first && k < first + rows) {
      lines.push_back(marked(page.body[k], is_selected));
    }
  }
  if (has_key_line(frame)) {
    lines.resize(std::max(lines.size(), frame.rows - 1));
    lines.push_back({std::string{kKeys}, Style::Faint});
  }
  cut(lines, frame);
  return lines;
}

std::vector<Line> help_text() {
  return {
      {"gcoordctl top: keys", Style::Title},
      {""},
      {"up down j k   select a row; PgUp PgDn Home End too"},
      {"Tab           the other table"},
      {"Enter         open the selected node or name"},
      {"Esc Backspace go back"},
      {"< >           sort by the column to the left, to the right"},
      {"r             reverse the order"},
      {"+ -           longer, shorter interval"},
      {"space         pause: nothing is asked, and the screen stays"},
      {"Ctrl-L        draw the screen again"},
      {"q Ctrl-C      quit"},
      {""},
      {"Sort nodes by", Style::Heading},
      {"N node  X state  A address  L leads  O locks  W waiters  S sessions"},
      {"C clients  R requests  E entries  T turn  P CPU  M memory  D disk free"},
      {"Sort names by", Style::Heading},
      {"C changes  G grants  W waits  A name"},
      {""},
      {"A bar stands for one sample or more, of the last 60; a blank is not known.", Style::Faint},
      {"Any key leaves this page.", Style::Faint}};
}

}  // namespace gcoord::cli::top
