#include "common/host/core_time.h"

#include <fstream>
#include <sstream>
#include <string>

namespace gcoord {

std::optional<CoreTime> parse_core_time(std::string_view line) {
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

CoreTime read_core_time() {
  std::ifstream in{"/proc/stat"};
  std::string line;
  std::getline(in, line);
  return parse_core_time(line).value_or(CoreTime{});
}

double busy_share(const CoreTime& before, const CoreTime& after) {
  return after.all > before.all && after.busy > before.busy
             ? static_cast<double>(after.busy - before.busy) /
                   static_cast<double>(after.all - before.all)
             : 0;
}

}  // namespace gcoord
