// Rows of top's pages: tables whose columns fit the screen, and lines of one number with its
// history. Pure; any thread.
#pragma once

#include "cli/top/view.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli::top {

// "> " before a row that is selected.
inline constexpr std::size_t kMarkCells = 2;

// The tables with their headings. On a narrow screen columns are left out, the least important
// first, and never that by which the rows are sorted.
std::vector<BodyRow> node_table(const Model& model, Sorting sorting, const Frame& frame);
std::vector<BodyRow> name_table(std::span<const NameRow* const> names,
                                Sorting sorting,
                                const Frame& frame);

// "requests/s     123.4  ▁▂▃  min 1.0  max 130.0", in so many cells.
struct NumberLine {
  std::string_view label;
  Unit unit = Unit::Count;
  const History& history;
};

std::string number_line(const NumberLine& line, std::size_t cells, bool ascii);

}  // namespace gcoord::cli::top
