// Files of lines that trust nothing: a line a record, some of them bad, the last one perhaps torn.
//
// What history_file.h and trace.h have in common. Reading is blocking; one thread.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::chaos {

// A line that is no record. What has one lacks a record, so nothing in it can be called right.
struct BadLine {
  std::string file;
  std::uint64_t line = 0;  // From 1.
  std::string what;
};

inline constexpr std::size_t kBadLinesMax = 10;

// What was wrong with the files that were read.
struct LineFaults {
  std::vector<BadLine> bad_lines;  // The first kBadLinesMax of each kind of file.
  std::uint64_t bad_line_count = 0;
  std::vector<std::string> torn_files;  // Their last line was cut short when its writer was killed.

  void add(const LineFaults& other);
};

// Gives every whole line of a file to `take`, with its number from 1; a failure makes it a bad one.
// NotFound, naming `what` was looked for, when the file cannot be read.
Status read_lines(const std::filesystem::path& file,
                  const char* what,
                  LineFaults& faults,
                  const std::function<Status(const std::string& line, std::uint64_t number)>& take);

}  // namespace gcoord::chaos
