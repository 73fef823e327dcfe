#include "cli/top/samples/series.h"
#include "cli/top/tables.h"
#include "cli/top/view.h"
#include "common/text/printable.h"

#include <algorithm>
#include <cctype>

namespace gcoord::cli::top {

namespace {

Line node_title(const Model& model, const NodeRow& row) {
  return {"node " + std::to_string(row.node) + " at " + shown(row.endpoint) + "  " +
              state_text(model, row),
          row.answers() ? Style::Title : Style::Alarm};
}

std::string in_capitals(std::string_view text) {
  std::string capitals{text};
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char each) {
    return static_cast<char>(std::toupper(each));
  });
  return capitals;
}

// Every number that was known within the history, by section.
std::vector<BodyRow> numbers_of(const NodeRow& row, const Frame& frame) {
  std::vector<BodyRow> rows;
  std::string_view section;
  for (std::size_t k = 0; k < all_series().size(); ++k) {
    const Series& series = all_series()[k];
    if (!row.history[k].max().has_value()) {
      continue;
    }
    if (series.section != section) {
      section = series.section;
      rows.push_back({{"  " + in_capitals(section), Style::Heading}, std::nullopt});
    }
    const std::size_t cells = frame.columns - std::min(frame.columns, kMarkCells);
    rows.push_back({{number_line({series.label, series.unit, row.history[k]}, cells, frame.ascii)},
                    Target{.kind = Target::Kind::Line, .line = k}});
  }
  return rows;
}

}  // namespace

PageText node_text(const Model& model, const Navigation& navigation, const Frame& frame) {
  PageText page;
  const NodeRow* row = model.node(navigation.here().node);
  if (row == nullptr) {
    page.head.push_back({"this node is no longer of the cluster", Style::Alarm});
    return page;
  }
  page.head.push_back(node_title(model, *row));
  if (!row->answers()) {
    page.head.push_back({shown(row->error), Style::Alarm});
  } else if (!row->metrics_error.empty()) {
    page.head.push_back({"no metrics: " + shown(row->metrics_error), Style::Faint});
  }
  page.body = numbers_of(*row, frame);
  page.body.push_back({{"  HOTTEST NAMES that it leads", Style::Heading}, std::nullopt});
  const auto names = sorted_names(names_of(model, row->node), navigation.names());
  if (names.empty()) {
    page.body.push_back({{"  none has changed", Style::Faint}, std::nullopt});
  } else {
    std::ranges::move(name_table(names, navigation.names(), frame), std::back_inserter(page.body));
  }
  return page;
}

}  // namespace gcoord::cli::top
