#include "cli/bench/load/own_load.h"

#include "common/host/process_facts.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace gcoord::cli {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::map<std::uint32_t, std::uint64_t> ticks_of_threads() {
  std::map<std::uint32_t, std::uint64_t> ticks;
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const auto stat = parse_process_stat(text_of(task.path() / "stat"));
    if (stat.ok()) {
      const auto id = static_cast<std::uint32_t>(std::stoul(task.path().filename().string()));
      ticks[id] = stat.value().user_ticks + stat.value().system_ticks;
    }
  }
  return ticks;
}

}  // namespace

OwnLoadMeter::OwnLoadMeter() : begin_(count()) {}

OwnLoadMeter::Counters OwnLoadMeter::count() {
  return {.at = std::chrono::steady_clock::now(),
          .thread_ticks = ticks_of_threads(),
          .machine = read_core_time()};
}

OwnLoad OwnLoadMeter::read() const {
  const Counters now = count();
  const double seconds = std::chrono::duration<double>(now.at - begin_.at).count();
  const double ticks = seconds * static_cast<double>(::sysconf(_SC_CLK_TCK));
  OwnLoad load;
  if (ticks <= 0) {
    return load;
  }
  for (const auto& [thread, used] : now.thread_ticks) {
    const auto before = begin_.thread_ticks.find(thread);
    const std::uint64_t since =
        used - (before == begin_.thread_ticks.end() ? 0 : std::min(before->second, used));
    const double share = static_cast<double>(since) / ticks;
    load.cores_used += share;
    load.busiest_thread = std::max(load.busiest_thread, share);
  }
  load.machine_busy = busy_share(begin_.machine, now.machine);
  return load;
}

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::None:
      return "none";
    case Bound::Late:
      return "late";
    case Bound::Thread:
      return "thread";
    case Bound::Machine:
      return "machine";
    case Bound::Clients:
      return "clients";
  }
  return "none";
}

}  // namespace gcoord::cli
