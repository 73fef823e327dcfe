#include "common/host/processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

namespace gcoord {
namespace {

constexpr std::string_view kHierarchy = "/sys/fs/cgroup";

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::uint32_t affinity_count() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  return std::thread::hardware_concurrency();
}

// The least quota of the group and of those above it.
std::optional<std::uint32_t> quota_of(std::string path) {
  std::optional<std::uint32_t> least;
  for (;;) {
    if (const auto text = text_of(std::string(kHierarchy) + path + "/cpu.max")) {
      if (const auto quota = parse_cpu_max(*text)) {
        least = std::min(least.value_or(*quota), *quota);
      }
    }
    if (path.empty()) {
      return least;
    }
    path.resize(path.find_last_of('/'));
  }
}

// Within a container the group is the root of what can be seen.
std::optional<std::uint32_t> quota_of_version_1() {
  const std::string folder = std::string(kHierarchy) + "/cpu/";
  const auto quota = text_of(folder + "cpu.cfs_quota_us");
  const auto period = text_of(folder + "cpu.cfs_period_us");
  if (!quota || !period) {
    return std::nullopt;
  }
  return parse_cpu_max(std::string(first_line(*quota)) + " " + std::string(first_line(*period)));
}

}  // namespace

std::optional<std::uint32_t> parse_cpu_max(std::string_view text) {
  const std::string_view line = first_line(text);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return std::nullopt;
  }
  const auto quota = number_of(line.substr(0, space));
  const auto period = number_of(line.substr(space + 1));
  if (!quota || !period || *quota == 0 || *period == 0) {
    return std::nullopt;
  }
  const std::uint64_t count = (*quota - 1) / *period + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 1u << 20));
}

std::optional<std::string> parse_cgroup_path(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = first_line(text);
    if (line.starts_with("0::/")) {
      const std::string_view path = line.substr(3);
      return path == "/" ? std::string{} : std::string(path);
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::uint32_t usable_processors() {
  std::uint32_t count = std::max(affinity_count(), 1u);
  const auto groups = text_of("/proc/self/cgroup");
  const auto path = groups ? parse_cgroup_path(*groups) : std::nullopt;
  auto quota = path ? quota_of(*path) : std::nullopt;
  quota = quota ? quota : quota_of_version_1();
  return quota ? std::clamp(*quota, 1u, count) : count;
}

}  // namespace gcoord
