#include "bench/vs/peers/program_version.h"

#include "common/host/child_process.h"

#include <chrono>

namespace gcoord::bench {

namespace {

// A virtual machine of Java on a busy host takes seconds.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

std::string word_behind(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = line.substr(found + mark.size());
  return std::string{rest.substr(0, rest.find_first_of(" ,\r\n"))};
}

Result<std::string> program_version(const std::vector<std::string>& command,
                                    std::string_view mark) {
  ChildOptions options;
  options.arguments = command;
  options.capture_output = true;
  options.error_file = "/dev/null";
  GCOORD_TRY(auto child, ChildProcess::start(options));
  const std::string version = word_behind(child.read_line(kPatience).value_or(""), mark);
  child.kill_now();
  if (version.empty()) {
    return Status{StatusCode::FailedPrecondition, command[0] + " does not tell its version"};
  }
  return version;
}

}  // namespace gcoord::bench
