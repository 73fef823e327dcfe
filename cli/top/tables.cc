#include "cli/top/tables.h"

#include "cli/top/figures.h"
#include "common/text/cells.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace gcoord::cli::top {

namespace {

constexpr std::size_t kGapCells = 2;
constexpr std::size_t kEndpointCellsMax = 32;
constexpr std::size_t kHistoryCellsMin = 12;
constexpr std::string_view kHistoryHeading = "HISTORY";
constexpr std::size_t kLabelCells = 20;
constexpr std::size_t kFigureCells = 10;
constexpr std::size_t kRangeCells = 28;  // "  min 1023 KiB  max 1023 KiB".

// Cells of a table by row and column, as they are before some of them are left out.
struct Grid {
  std::span<const Column> columns;
  std::vector<std::vector<std::string>> cells;
  Sorting sorting;
  bool ascii = false;
};

bool goes_up(const Column& column, bool reverse) {
  return (column.text || column.id == "node") != reverse;
}

std::string heading_of(const Grid& grid, std::size_t column) {
  const Column& each = grid.columns[column];
  std::string heading{each.heading};
  if (column == grid.sorting.column) {
    const bool up = goes_up(each, grid.sorting.reverse);
    heading += grid.ascii ? (up ? "^" : "v") : (up ? "\u2191" : "\u2193");
  }
  return heading;
}

std::size_t width_of(const Grid& grid, std::size_t column) {
  std::size_t width = cells_of(heading_of(grid, column));
  for (const auto& row : grid.cells) {
    width = std::max(width, cells_of(row[column]));
  }
  return grid.columns[column].text ? std::min(width, kEndpointCellsMax) : width;
}

// Columns by their index, and how wide each is.
struct Layout {
  std::vector<std::size_t> columns;
  std::vector<std::size_t> widths;

  std::size_t cells() const {
    std::size_t sum = kMarkCells + (columns.empty() ? 0 : kGapCells * (columns.size() - 1));
    for (const std::size_t each : widths) {
      sum += each;
    }
    return sum;
  }
};

// The index in the layout of the column to be left out next; nothing when all others stay.
std::optional<std::size_t> least_important(const Grid& grid, const Layout& layout) {
  std::optional<std::size_t> found;
  std::uint32_t highest = 0;
  for (std::size_t k = 0; k < layout.columns.size(); ++k) {
    const std::uint32_t rank = grid.columns[layout.columns[k]].rank;
    if (layout.columns[k] != grid.sorting.column && rank > highest) {
      highest = rank;
      found = k;
    }
  }
  return found;
}

Layout layout_of(const Grid& grid, std::size_t cells_max) {
  Layout layout;
  for (std::size_t column = 0; column < grid.columns.size(); ++column) {
    layout.columns.push_back(column);
    layout.widths.push_back(width_of(grid, column));
  }
  while (layout.cells() > cells_max) {
    const auto out = least_important(grid, layout);
    if (!out.has_value()) {
      break;  // The line is cut then.
    }
    layout.columns.erase(layout.columns.begin() + static_cast<std::ptrdiff_t>(*out));
    layout.widths.erase(layout.widths.begin() + static_cast<std::ptrdiff_t>(*out));
  }
  return layout;
}

std::string row_text(const Grid& grid,
                     const Layout& layout,
                     const std::function<std::string(std::size_t column)>& cell) {
  std::string text;
  for (std::size_t k = 0; k < layout.columns.size(); ++k) {
    const std::size_t column = layout.columns[k];
    const Side side = grid.columns[column].text ? Side::Left : Side::Right;
    text +=
        (k == 0 ? "" : std::string(kGapCells, ' ')) + padded(cell(column), layout.widths[k], side);
  }
  return text;
}

std::string heading_text(const Grid& grid, const Layout& layout) {
  return std::string(kMarkCells, ' ') +
         row_text(grid, layout, [&](std::size_t column) { return heading_of(grid, column); });
}

// Cells that are left for a column with the history, behind the others; 0 when there is no room for
// it.
std::size_t history_cells(const Layout& layout, std::size_t cells_max) {
  const std::size_t taken = layout.cells() + kGapCells;
  const std::size_t left = cells_max - std::min(cells_max, taken);
  return left < kHistoryCellsMin ? 0 : std::min(left, kHistorySamples);
}

}  // namespace

std::vector<BodyRow> node_table(const Model& model, Sorting sorting, const Frame& frame) {
  const std::vector<const NodeRow*> nodes = sorted_nodes(model, sorting);
  Grid grid{.columns = node_columns(), .cells = {}, .sorting = sorting, .ascii = frame.ascii};
  for (const NodeRow* each : nodes) {
    std::vector<std::string>& cells = grid.cells.emplace_back();
    for (const Column& column : grid.columns) {
      cells.push_back(cell_of(model, *each, column));
    }
  }
  const Layout layout = layout_of(grid, frame.columns);
  const Column& sorted = grid.columns[sorting.column];
  const std::size_t bars = sorted.series.empty() ? 0 : history_cells(layout, frame.columns);
  const std::string gap(kGapCells, ' ');
  std::vector<BodyRow> rows;
  rows.push_back({{heading_text(grid, layout) +
                       (bars == 0 ? "" : gap + padded(kHistoryHeading, bars, Side::Left)),
                   Style::Heading},
                  std::nullopt});
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::string text =
        row_text(grid, layout, [&](std::size_t column) { return grid.cells[k][column]; });
    if (bars > 0) {
      text += gap + sparkline(nodes[k]->history[series_index(sorted.series)], bars, frame.ascii);
    }
    rows.push_back({{text, nodes[k]->answers() ? Style::Plain : Style::Alarm},
                    Target{.kind = Target::Kind::Node, .node = nodes[k]->node}});
  }
  return rows;
}

std::vector<BodyRow> name_table(std::span<const NameRow* const> names,
                                Sorting sorting,
                                const Frame& frame) {
  Grid grid{.columns = name_columns(), .cells = {}, .sorting = sorting, .ascii = frame.ascii};
  for (const NameRow* each : names) {
    std::vector<std::string>& cells = grid.cells.emplace_back();
    for (const Column& column : grid.columns) {
      cells.push_back(cell_of(*each, column));
    }
  }
  Layout layout = layout_of(grid, frame.columns);
  const std::size_t bars = history_cells(layout, frame.columns);
  // A name has all the rest, so that a long one can be read.
  if (bars == 0 && !layout.widths.empty()) {
    const std::size_t taken = layout.cells() - layout.widths.back();
    layout.widths.back() = frame.columns - std::min(frame.columns, taken);
  }
  const std::string gap(kGapCells, ' ');
  std::vector<BodyRow> rows;
  rows.push_back(
      {{heading_text(grid, layout) + (bars == 0 ? "" : gap + std::string{kHistoryHeading}),
        Style::Heading},
       std::nullopt});
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::string text =
        row_text(grid, layout, [&](std::size_t column) { return grid.cells[k][column]; });
    if (bars > 0) {
      text += gap + sparkline(names[k]->grants, bars, frame.ascii);
    }
    rows.push_back(
        {{text, Style::Plain}, Target{.kind = Target::Kind::Name, .name = names[k]->name}});
  }
  return rows;
}

std::string number_line(const NumberLine& line, std::size_t cells, bool ascii) {
  const std::string text =
      padded(line.label, kLabelCells, Side::Left) +
      padded(figure(line.history.latest(), line.unit), kFigureCells, Side::Right) +
      std::string(kGapCells, ' ');
  const std::size_t left = cells - std::min(cells, cells_of(text));
  const bool ranged = left >= kRangeCells + kHistoryCellsMin;
  const std::size_t bars = std::min(ranged ? left - kRangeCells : left, kHistorySamples);
  std::string range;
  if (ranged && line.history.min().has_value()) {
    range = "  min " + figure(line.history.min(), line.unit) + "  max " +
            figure(line.history.max(), line.unit);
  }
  return text + sparkline(line.history, bars, ascii) + range;
}

}  // namespace gcoord::cli::top
