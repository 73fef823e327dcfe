#include "server/platform/boot_time.h"

#include <time.h>

#include <chrono>

namespace gcoord::server {

std::uint64_t boot_time_us() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000u;
}

std::uint64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return ms > 0 ? static_cast<std::uint64_t>(ms) : 0;
}

}  // namespace gcoord::server
