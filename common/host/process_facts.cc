#include "common/host/process_facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace gcoord {
namespace {

Result<std::string> text_of(const char* path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  return text.empty() ? Result<std::string>{Status{StatusCode::Unavailable, path}} : text;
}

// Unix seconds at which the machine started.
double boot_unix_seconds() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) {
      return seconds;
    }
  }
  return 0;
}

std::uint64_t count_descriptors() {
  std::error_code failed;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", failed), end; !failed && at != end;
       at.increment(failed)) {
    ++count;
  }
  return count == 0 ? 0 : count - 1;  // One is the folder's own.
}

std::uint64_t descriptor_limit() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? limit.rlim_cur : 0;
}

}  // namespace

Result<ProcessStat> parse_process_stat(std::string_view text) {
  // The second field is a name in brackets, which may have both; the last one ends it.
  const std::size_t name_end = text.rfind(')');
  constexpr std::size_t kFirst = 3;  // The number, in proc(5), of the field behind the name.
  std::array<std::uint64_t, 25> fields{};
  const char* at = name_end == std::string_view::npos ? text.end() : text.data() + name_end + 1;
  for (std::size_t number = kFirst; number < fields.size(); ++number) {
    while (at != text.end() && *at == ' ') {
      ++at;
    }
    const char* begin = at;
    while (at != text.end() && *at != ' ') {
      ++at;
    }
    if (begin == at) {
      return Status{StatusCode::DataLoss, "/proc/PID/stat has too few fields"};
    }
    std::from_chars(begin, at, fields[number]);  // The state and negative fields stay 0: unused.
  }
  return ProcessStat{.user_ticks = fields[14],
                     .system_ticks = fields[15],
                     .threads = fields[20],
                     .start_ticks = fields[22],
                     .virtual_bytes = fields[23],
                     .resident_pages = fields[24]};
}

Result<ProcessFacts> read_process_facts() {
  GCOORD_TRY(const std::string text, text_of("/proc/self/stat"));
  GCOORD_TRY(const ProcessStat stat, parse_process_stat(text));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessFacts{
      .cpu_seconds = static_cast<double>(stat.user_ticks + stat.system_ticks) / ticks,
      .resident_bytes = stat.resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
      .virtual_bytes = stat.virtual_bytes,
      .threads = stat.threads,
      .descriptors_open = count_descriptors(),
      .descriptors_max = descriptor_limit(),
      .start_unix_seconds = boot_unix_seconds() + static_cast<double>(stat.start_ticks) / ticks};
}

}  // namespace gcoord
