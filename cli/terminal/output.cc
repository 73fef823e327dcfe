#include "cli/terminal/output.h"

#include "common/text/cells.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace gcoord::cli {

namespace {

std::string cell_text(const Json& value) {
  return value.is_string() ? shown(value.text()) : value.dump();
}

// "a=1 b=2" of an object, the text of a value.
std::string words_of(const Json& value) {
  if (!value.is_object()) {
    return cell_text(value);
  }
  std::string words;
  for (const auto& [name, each] : value.items()) {
    words += (words.empty() ? "" : " ") + shown(name) + "=" + cell_text(each);
  }
  return words;
}

// A list of objects has a line for each, any other list one line.
std::vector<std::string> lines_of(const Json& value) {
  if (!value.is_array()) {
    return {words_of(value)};
  }
  std::vector<std::string> lines;
  std::string line;
  for (const Json& each : value) {
    if (each.is_object()) {
      lines.push_back(words_of(each));
    } else {
      line += (line.empty() ? "" : ", ") + cell_text(each);
    }
  }
  return lines.empty() ? std::vector{line} : lines;
}

void show_all(std::vector<std::string>& cells) {
  for (std::string& cell : cells) {
    cell = shown(cell);
  }
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
      line.append(widths[column] - cells_of(cells[column]) + 2, ' ');
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
  std::vector<std::vector<std::string>> rows = table.rows;
  if (!table.columns.empty()) {
    rows.insert(rows.begin(), table.columns);
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (std::vector<std::string>& row : rows) {
    show_all(row);
    for (std::size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], cells_of(row[column]));
    }
  }
  if (!table.caption.empty()) {
    std::cout << shown(table.caption) << "\n";
  }
  for (const auto& row : rows) {
    print_row(row, widths);
  }
  for (const std::string& note : table.notes) {
    std::cout << shown(note) << "\n";
  }
}

void Output::print_facts(const Json& json) const {
  if (format_ == Format::JsonLines) {
    std::cout << json.dump() << "\n";
    return;
  }
  std::size_t width = 0;
  for (const auto& [name, value] : json.items()) {
    width = std::max(width, cells_of(shown(name)));
  }
  for (const auto& [name, value] : json.items()) {
    std::string label = shown(name);
    for (const std::string& line : lines_of(value)) {
      std::cout << label << std::string(width - cells_of(label) + 2, ' ') << line << "\n";
      label.clear();
    }
  }
}

namespace {

// A node refuses in words of its own, which do not say what to do next.
Status with_next_step(const Status& status) {
  const protocol::ErrorEntry* const entry = protocol::find_error(status.detail());
  if (entry == nullptr || entry->exit != protocol::ExitCode::Auth ||
      status.message().find(entry->fix) != std::string::npos) {
    return status;
  }
  return {status.code(), status.message() + ". " + std::string{entry->fix} + ".", status.detail()};
}

}  // namespace

int Output::fail(const Status& refused, const std::vector<std::string>& evidence) const {
  const Status status = with_next_step(refused);
  if (format_ == Format::JsonLines) {
    Json error = {{"code", status.detail() == 0 ? "" : code_text(status.detail())},
                  {"status", status_code_name(status.code())},
                  {"message", status.message()},
                  {"evidence", evidence}};
    std::cout << Json{{"error", error}}.dump() << "\n";
  } else {
    talk(status.to_string());
    for (const std::string& line : evidence) {
      std::cerr << "  " << shown(line) << "\n";
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

void print_text(std::string_view text) {
  if (::isatty(STDOUT_FILENO) != 1) {
    std::cout << text;
    return;
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::cout << shown(text.substr(0, end)) << "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void talk(std::string_view line) {
  std::cerr << "gcoordctl: " + shown(line) + "\n";
}

void tell_gaps(const ListGaps& gaps) {
  if (!gaps.answered) {
    talk("the list may be incomplete: a node or the leader of a shard did not answer");
  }
  if (gaps.cut) {
    talk("the list ends at --limit " + std::to_string(gaps.limit) + ", and there are more");
  }
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace gcoord::cli
