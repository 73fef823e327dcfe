#include "cli/top/report.h"

#include "cli/top/figures.h"

#include <cstdio>
#include <string>
#include <utility>

namespace gcoord::cli::top {

namespace {

constexpr std::size_t kNamesPrinted = 10;

// Those that changed since the sample before, the hottest first.
std::vector<const NameRow*> hottest(const Model& model) {
  std::vector<const NameRow*> rows;
  for (const NameRow& each : model.names()) {
    if (each.changes() > 0 && rows.size() < kNamesPrinted) {
      rows.push_back(&each);
    }
  }
  return rows;
}

Json json_of(std::optional<double> number) {
  return number.has_value() ? Json(*number) : Json();
}

// All numbers that are known, by id.
Json numbers_json(const NodeRow& row) {
  Json numbers = Json::object();
  for (std::size_t k = 0; k < all_series().size(); ++k) {
    if (const auto value = row.latest(k); value.has_value()) {
      numbers[all_series()[k].id] = *value;
    }
  }
  return numbers;
}

Json node_json(const Model& model, const NodeRow& row) {
  const auto leaders = row.latest(series_index("leaders"));
  return {{"node", row.node},
          {"endpoint", row.endpoint},
          {"reachable", row.answers()},
          {"leaders", leaders.has_value() ? Json(static_cast<std::uint64_t>(*leaders)) : Json()},
          {"entries_per_s", json_of(row.latest(series_index("entries")))},
          {"error", row.error},
          {"metrics_error", row.metrics_error},
          {"silent_ms",
           row.answered_ms.has_value() ? Json(row.answers() ? 0 : model.at_ms() - *row.answered_ms)
                                       : Json()},
          {"numbers", numbers_json(row)}};
}

std::string per_second(const History& history) {
  return figure(history.latest().value_or(0), Unit::PerSecond);
}

Table node_rows(const Model& model, Sorting sorting, std::chrono::milliseconds interval) {
  Table table;
  char every[32];
  std::snprintf(every, sizeof every, "%.1f", static_cast<double>(interval.count()) / 1000);
  table.caption =
      std::to_string(model.answering()) + " of " + std::to_string(model.nodes().size()) +
      " nodes answer; " + per_second(model.totals().grants) + " grants/s, " +
      per_second(model.totals().expiries) + " expiries/s; every " + every + " s, Ctrl-C ends it";
  for (const Column& column : node_columns()) {
    table.columns.emplace_back(column.heading);
  }
  for (const NodeRow* row : sorted_nodes(model, sorting)) {
    auto& cells = table.rows.emplace_back();
    for (const Column& column : node_columns()) {
      cells.push_back(cell_of(model, *row, column));
    }
    if (!row->answers()) {
      table.notes.push_back("node " + std::to_string(row->node) +
                            " does not answer: " + row->error);
    }
  }
  return table;
}

Table name_rows(const Model& model) {
  Table table{{"GRANTS/S", "WAITS/S", "NAME"}, {}, {}, {}};
  for (const NameRow* row : hottest(model)) {
    table.rows.push_back({per_second(row->grants), per_second(row->waits), row->name});
  }
  if (!model.names_error().empty()) {
    table.notes.push_back("changes are not told: " + model.names_error());
  } else if (table.rows.empty()) {
    table.notes.push_back("no name has changed since the last view");
  }
  return table;
}

}  // namespace

Json sample_json(const Model& model, Sorting sorting) {
  Json json = {{"grants_per_s", model.totals().grants.latest().value_or(0)},
               {"expiries_per_s", model.totals().expiries.latest().value_or(0)},
               {"seconds", model.seconds()},
               {"names_error", model.names_error()},
               {"nodes", Json::array()},
               {"hottest", Json::array()}};
  for (const NodeRow* row : sorted_nodes(model, sorting)) {
    json["nodes"].push_back(node_json(model, *row));
  }
  for (const NameRow* row : hottest(model)) {
    json["hottest"].push_back({{"name", row->name},
                               {"grants_per_s", row->grants.latest().value_or(0)},
                               {"waits_per_s", row->waits.latest().value_or(0)}});
  }
  return json;
}

std::vector<Table> sample_tables(const Model& model,
                                 Sorting sorting,
                                 std::chrono::milliseconds interval) {
  std::vector<Table> tables;
  tables.push_back(node_rows(model, sorting, interval));
  tables.push_back(name_rows(model));
  return tables;
}

}  // namespace gcoord::cli::top
