#include "chaos/check/line_file.h"

#include <fstream>

namespace gcoord::chaos {

void LineFaults::add(const LineFaults& other) {
  bad_lines.insert(bad_lines.end(), other.bad_lines.begin(), other.bad_lines.end());
  bad_line_count += other.bad_line_count;
  torn_files.insert(torn_files.end(), other.torn_files.begin(), other.torn_files.end());
}

Status read_lines(
    const std::filesystem::path& file,
    const char* what,
    LineFaults& faults,
    const std::function<Status(const std::string& line, std::uint64_t number)>& take) {
  std::ifstream in{file};
  if (!in || std::filesystem::is_directory(file)) {
    return Status{StatusCode::NotFound, std::string("no ") + what + " in " + file.string()};
  }
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (in.eof()) {
      faults.torn_files.push_back(file.string());  // No newline: cut short.
      break;
    }
    const Status taken = take(line, number);
    if (!taken.ok() && ++faults.bad_line_count <= kBadLinesMax) {
      faults.bad_lines.push_back({file.string(), number, taken.message()});
    }
  }
  return Status{};
}

}  // namespace gcoord::chaos
