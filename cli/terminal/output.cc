#include "cli/terminal/output.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace gcoord::cli {

namespace {

std::string cell_text(const Json& value) {
  return value.is_string() ? value.text() : value.dump();
}

std::string code_text(std::uint32_t detail) {
  char text[16];
  std::snprintf(text, sizeof(text), "GC%04u", detail);
  return text;
}

void print_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    line += cells[column];
    if (column + 1 < cells.size()) {
      line.append(widths[column] - cells[column].size() + 2, ' ');
    }
  }
  std::cout << line << "\n";
}

}  // namespace

void Output::print(const Json& json, const Table& table) const {
  if (format_ == Format::JsonLines) {
    std::cout << json.dump() << "\n";
    return;
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (std::size_t column = 0; column < widths.size(); ++column) {
    widths[column] = table.columns[column].size();
    for (const auto& row : table.rows) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  if (!table.caption.empty()) {
    std::cout << table.caption << "\n";
  }
  print_row(table.columns, widths);
  for (const auto& row : table.rows) {
    print_row(row, widths);
  }
  for (const std::string& note : table.notes) {
    std::cout << note << "\n";
  }
}

void Output::print_facts(const Json& json) const {
  if (format_ == Format::JsonLines) {
    std::cout << json.dump() << "\n";
    return;
  }
  std::size_t width = 0;
  for (const auto& [name, value] : json.items()) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, value] : json.items()) {
    std::cout << name << std::string(width - name.size() + 2, ' ') << cell_text(value) << "\n";
  }
}

int Output::fail(const Status& status, const std::vector<std::string>& evidence) const {
  if (format_ == Format::JsonLines) {
    Json error = {{"code", status.detail() == 0 ? "" : code_text(status.detail())},
                  {"status", status_code_name(status.code())},
                  {"message", status.message()},
                  {"evidence", evidence}};
    std::cout << Json{{"error", error}}.dump() << "\n";
  } else {
    std::cerr << "gcoordctl: " << status.to_string() << "\n";
    for (const std::string& line : evidence) {
      std::cerr << "  " << line << "\n";
    }
  }
  return static_cast<int>(protocol::exit_code(status));
}

int Output::fail(const client::Status& status, const std::vector<std::string>& evidence) const {
  return fail(to_status(status), evidence);
}

Status to_status(const client::Status& status) {
  if (status.ok()) {
    return Status{};
  }
  return Status{static_cast<StatusCode>(status.code()), status.message(), status.detail()};
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace gcoord::cli
