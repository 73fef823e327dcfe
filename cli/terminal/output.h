// Output of gcoordctl: one value per command, as a table for people or as JSON for programs.
//
// stdout carries the value and nothing else; stderr carries talk. With -o json every command prints
// one JSON object in one line, errors too: {"error": {"code", "status", "message", "evidence"}}.
// Integers over 32 bits are strings; bytes of the user's that are not UTF-8 become U+FFFD. What
// would control a terminal, whoever it came from, is printed as \u{...} (common/text/printable.h),
// and in JSON as an escape of JSON. One thread, except talk().
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "gcoord/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

enum class Format : std::uint8_t { Tables, JsonLines };

// A table: columns are as wide as their widest cell on a terminal; the last one is not padded.
struct Table {
  std::vector<std::string> columns;  // None: caption and notes alone.
  std::vector<std::vector<std::string>> rows;
  std::string caption;             // A line above it, if any.
  std::vector<std::string> notes;  // Lines below it.
};

class Output {
 public:
  explicit Output(Format format) : format_(format) {}

  Format format() const { return format_; }

  // The command's value: the JSON, or the table made of the same facts.
  void print(const Json& json, const Table& table) const;

  // For commands with one row of facts: "name value" lines instead of a table. A list is written
  // with commas, and one of objects with a line "a=1 b=2" for each.
  void print_facts(const Json& json) const;

  // An error; returns the program's exit code for it. `evidence` is per endpoint, if any.
  int fail(const Status& status, const std::vector<std::string>& evidence = {}) const;
  int fail(const client::Status& status, const std::vector<std::string>& evidence = {}) const;

 private:
  Format format_;
};

// Text of several lines that is data, unchanged; on a terminal each line as shown() has it.
void print_text(std::string_view text);

// A line on stderr, "gcoordctl: ..."; one write, so that lines of two threads do not mix. Any
// thread.
void talk(std::string_view line);

// What a list lacks.
struct ListGaps {
  bool answered = true;  // By every node, for every shard.
  bool cut = false;      // There are more rows than `limit`.
  std::uint32_t limit = 0;

  bool complete() const { return answered && !cut; }
};

// A line on stderr for each gap; nothing about a list that has none.
void tell_gaps(const ListGaps& gaps);

// To three digits behind the point, as figures are printed.
double rounded(double value);

// The client library's Status as the product's own.
Status to_status(const client::Status& status);

}  // namespace gcoord::cli
