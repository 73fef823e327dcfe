#include "bench/report/busy_share.h"

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace gcoord::bench {

namespace {

CoreTime core_time_now() {
  std::ifstream in{"/proc/stat"};
  std::string line;
  std::getline(in, line);
  return core_time(line).value_or(CoreTime{});
}

}  // namespace

std::optional<CoreTime> core_time(std::string_view line) {
  // user nice system idle iowait irq softirq steal; guests are in the first two.
  constexpr int kFields = 8;
  constexpr int kIdle = 3;
  constexpr int kWaits = 4;
  std::istringstream words{std::string{line}};
  std::string name;
  words >> name;
  CoreTime time;
  for (int field = 0; field < kFields; ++field) {
    std::uint64_t ticks = 0;
    if (!(words >> ticks)) {
      return std::nullopt;
    }
    time.all += ticks;
    time.busy += field == kIdle || field == kWaits ? 0 : ticks;
  }
  return name == "cpu" ? std::optional{time} : std::nullopt;
}

double busy_share(std::chrono::milliseconds length) {
  const CoreTime before = core_time_now();
  std::this_thread::sleep_for(length);
  const CoreTime after = core_time_now();
  return after.all > before.all ? static_cast<double>(after.busy - before.busy) /
                                      static_cast<double>(after.all - before.all)
                                : 0;
}

}  // namespace gcoord::bench
