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

// The first line of /proc/stat: "cpu user nice system idle iowait irq softirq steal guest ...".
OwnLoadMeter::Counters OwnLoadMeter::count() {
  Counters counters;
  counters.at = std::chrono::steady_clock::now();
  counters.thread_ticks = ticks_of_threads();
  std::istringstream line(text_of("/proc/stat"));
  std::string name;
  line >> name;
  constexpr int kFields = 8;  // Guests are in user and nice already.
  for (int field = 0; field < kFields; ++field) {
    std::uint64_t ticks = 0;
    line >> ticks;
    const bool idle = field == 3 || field == 4;
    counters.machine_ticks += ticks;
    counters.machine_busy_ticks += idle ? 0 : ticks;
  }
  return counters;
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
  const std::uint64_t all = now.machine_ticks - begin_.machine_ticks;
  const std::uint64_t busy = now.machine_busy_ticks - begin_.machine_busy_ticks;
  load.machine_busy = all == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(all);
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
