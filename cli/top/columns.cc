#include "cli/top/columns.h"

#include "cli/top/figures.h"
#include "common/text/printable.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::cli::top {

namespace {

constexpr std::array kNodeColumns = {
    Column{.id = "node", .heading = "NODE", .key = 'N'},
    Column{.id = "state", .heading = "STATE", .key = 'X', .text = true},
    Column{.id = "endpoint", .heading = "ENDPOINT", .key = 'A', .text = true, .rank = 8},
    Column{.id = "leads", .heading = "LEADS", .key = 'L', .rank = 1, .series = "leaders"},
    Column{.id = "locks", .heading = "LOCKS", .key = 'O', .rank = 2, .series = "locks"},
    Column{.id = "waiters", .heading = "WAITERS", .key = 'W', .rank = 6, .series = "waiters"},
    Column{.id = "sessions", .heading = "SESSIONS", .key = 'S', .rank = 7, .series = "sessions"},
    Column{.id = "clients", .heading = "CLIENTS", .key = 'C', .rank = 10, .series = "clients"},
    Column{.id = "requests",
           .heading = "REQUESTS/S",
           .key = 'R',
           .unit = Unit::PerSecond,
           .rank = 4,
           .series = "requests"},
    Column{.id = "entries",
           .heading = "ENTRIES/S",
           .key = 'E',
           .unit = Unit::PerSecond,
           .rank = 3,
           .series = "entries"},
    Column{.id = "turn",
           .heading = "TURN",
           .key = 'T',
           .unit = Unit::Seconds,
           .rank = 9,
           .series = "turn"},
    Column{
        .id = "cpu", .heading = "CPU", .key = 'P', .unit = Unit::Ratio, .rank = 5, .series = "cpu"},
    Column{.id = "memory",
           .heading = "MEMORY",
           .key = 'M',
           .unit = Unit::Bytes,
           .rank = 11,
           .series = "memory"},
    Column{.id = "disk",
           .heading = "DISK FREE",
           .key = 'D',
           .unit = Unit::Bytes,
           .rank = 12,
           .series = "disk"},
};

constexpr std::array kNameColumns = {
    Column{.id = "changes", .heading = "CHANGES/S", .key = 'C', .unit = Unit::PerSecond, .rank = 2},
    Column{.id = "grants", .heading = "GRANTS/S", .key = 'G', .unit = Unit::PerSecond},
    Column{.id = "waits", .heading = "WAITS/S", .key = 'W', .unit = Unit::PerSecond, .rank = 1},
    Column{.id = "name", .heading = "NAME", .key = 'A', .text = true},
};

std::optional<double> number_of(const NodeRow& row, const Column& column) {
  return column.series.empty() ? std::optional{static_cast<double>(row.node)}
                               : row.latest(series_index(column.series));
}

std::optional<double> number_of(const NameRow& row, const Column& column) {
  return column.id == "grants"  ? row.grants.latest()
         : column.id == "waits" ? row.waits.latest()
                                : std::optional{row.changes()};
}

// Whether a comes before b; what is not known comes last either way.
bool earlier(std::optional<double> a, std::optional<double> b, bool rising) {
  if (!a.has_value() || !b.has_value()) {
    return a.has_value() && !b.has_value();
  }
  return rising ? *a < *b : *a > *b;
}

std::string words_of(const NodeRow& row, const Column& column) {
  return column.id == "endpoint" ? row.endpoint : row.answers() ? "ok" : "silent";
}

}  // namespace

std::span<const Column> node_columns() {
  return kNodeColumns;
}

std::span<const Column> name_columns() {
  return kNameColumns;
}

std::optional<std::size_t> column_of(std::span<const Column> columns, std::string_view id) {
  const auto found = std::ranges::find(columns, id, &Column::id);
  return found == columns.end() ? std::nullopt
                                : std::optional{static_cast<std::size_t>(found - columns.begin())};
}

std::optional<std::size_t> column_of_key(std::span<const Column> columns, char key) {
  const auto found = std::ranges::find(columns, key, &Column::key);
  return found == columns.end() ? std::nullopt
                                : std::optional{static_cast<std::size_t>(found - columns.begin())};
}

std::vector<const NodeRow*> sorted_nodes(const Model& model, Sorting sorting) {
  const Column& column = kNodeColumns[sorting.column];
  std::vector<const NodeRow*> rows;
  for (const NodeRow& each : model.nodes()) {
    rows.push_back(&each);
  }
  const bool rising = (column.text || column.series.empty()) != sorting.reverse;
  std::ranges::stable_sort(rows, [&](const NodeRow* a, const NodeRow* b) {
    if (column.text) {
      return rising ? words_of(*a, column) < words_of(*b, column)
                    : words_of(*a, column) > words_of(*b, column);
    }
    return earlier(number_of(*a, column), number_of(*b, column), rising);
  });
  return rows;
}

std::vector<const NameRow*> sorted_names(const std::vector<const NameRow*>& names,
                                         Sorting sorting) {
  const Column& column = kNameColumns[sorting.column];
  std::vector<const NameRow*> rows = names;
  const bool rising = column.text != sorting.reverse;
  std::ranges::stable_sort(rows, [&](const NameRow* a, const NameRow* b) {
    if (column.text) {
      return rising ? a->name < b->name : a->name > b->name;
    }
    return earlier(number_of(*a, column), number_of(*b, column), rising);
  });
  return rows;
}

std::vector<const NameRow*> names_of(const Model& model) {
  std::vector<const NameRow*> rows;
  for (const NameRow& each : model.names()) {
    rows.push_back(&each);
  }
  return rows;
}

std::vector<const NameRow*> names_of(const Model& model, std::uint32_t node) {
  std::vector<const NameRow*> rows;
  for (const NameRow& each : model.names()) {
    if (model.leader_of(each.shard) == node) {
      rows.push_back(&each);
    }
  }
  return rows;
}

std::string cell_of(const Model& model, const NodeRow& row, const Column& column) {
  if (column.id == "state") {
    return state_text(model, row);
  }
  return column.text ? shown(row.endpoint) : figure(number_of(row, column), column.unit);
}

std::string cell_of(const NameRow& row, const Column& column) {
  return column.text ? shown(row.name) : figure(number_of(row, column), column.unit);
}

std::string state_text(const Model& model, const NodeRow& row) {
  if (row.answers()) {
    return "ok";
  }
  return row.answered_ms.has_value()
             ? "silent " + age_text(model.at_ms() - std::min(model.at_ms(), *row.answered_ms))
             : "silent";
}

}  // namespace gcoord::cli::top
