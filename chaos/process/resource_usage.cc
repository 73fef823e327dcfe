#include "chaos/process/resource_usage.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace gcoord::chaos {

namespace {

// Fields 14 and 15 of proc(5) stat, in clock ticks; the name before them may hold any character but
// is closed by the last parenthesis.
std::uint64_t cpu_clock_ticks(const std::string& stat) {
  std::istringstream rest{stat.substr(stat.rfind(')') + 1)};
  std::string skipped;
  for (int field = 3; field < 14; ++field) {
    rest >> skipped;
  }
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  rest >> user >> system;
  return user + system;
}

}  // namespace

Result<ResourceUsage> resource_usage(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::string stat;
  std::getline(std::ifstream{folder + "stat"}, stat);
  if (stat.empty()) {
    return Status{StatusCode::NotFound, "no process " + std::to_string(pid)};
  }
  ResourceUsage usage;
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  usage.cpu = std::chrono::milliseconds{cpu_clock_ticks(stat) * 1000 / per_second};
  std::ifstream status{folder + "status"};
  for (std::string line; std::getline(status, line);) {
    std::istringstream words{line};
    std::string key;
    std::uint64_t kilobytes = 0;
    words >> key >> kilobytes;
    if (key == "VmRSS:") {
      usage.resident_bytes = kilobytes * 1024;
    } else if (key == "RssAnon:") {
      usage.resident_anonymous_bytes = kilobytes * 1024;
    }
  }
  return usage;
}

}  // namespace gcoord::chaos
