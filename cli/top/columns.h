// Columns of top's two tables, of nodes and of names, and the order of rows by one of them.
//
// A column has an id for --sort, a heading, and a key that sorts by it. Rows whose value is not
// known come last, whichever way the others go. Pure; any thread.
#pragma once

#include "cli/top/samples/model.h"
#include "cli/top/samples/series.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli::top {

struct Column {
  std::string_view id;
  std::string_view heading;
  char key = 0;
  Unit unit = Unit::Count;
  bool text = false;             // It has words: on the left, and a before z.
  std::uint32_t rank = 0;        // On a narrow screen the highest go first; 0 stays.
  std::string_view series = {};  // Of a column of nodes with numbers.
};

std::span<const Column> node_columns();
std::span<const Column> name_columns();

// Which column rows are ordered by, and whether against its own direction: numbers go down, ids and
// words go up.
struct Sorting {
  std::size_t column = 0;
  bool reverse = false;
};

// The column of this id; nothing when there is none.
std::optional<std::size_t> column_of(std::span<const Column> columns, std::string_view id);

// The column of this key; nothing when there is none.
std::optional<std::size_t> column_of_key(std::span<const Column> columns, char key);

// In the order to be shown.
std::vector<const NodeRow*> sorted_nodes(const Model& model, Sorting sorting);
std::vector<const NameRow*> sorted_names(const std::vector<const NameRow*>& names, Sorting sorting);

// All names, and those whose shards this node leads.
std::vector<const NameRow*> names_of(const Model& model);
std::vector<const NameRow*> names_of(const Model& model, std::uint32_t node);

// What stands in a cell, shown() where it is from outside.
std::string cell_of(const Model& model, const NodeRow& row, const Column& column);
std::string cell_of(const NameRow& row, const Column& column);

// "ok", "silent 12 s" or "silent" of one that never answered.
std::string state_text(const Model& model, const NodeRow& row);

}  // namespace gcoord::cli::top
