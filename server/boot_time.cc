#include "server/boot_time.h"

#include <time.h>

namespace gcoord::server {

std::uint64_t boot_time_us() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000u;
}

}  // namespace gcoord::server
