#include "server/debug/build_page.h"

#include "server/platform/boot_time.h"
#include "server/platform/version.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <string>
#include <thread>

namespace gcoord::server {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

Json build_json() {
  utsname system{};
  ::uname(&system);
  return {{"version", kVersion},
          {"compiler", __VERSION__},
          {"sanitized", kSanitized},
          {"c_library", std::string{"glibc "} + ::gnu_get_libc_version()},
          {"kernel", std::string{system.sysname} + " " + system.release},
          {"machine", system.machine},
          {"processors", std::thread::hardware_concurrency()},
          {"wall_ms", std::to_string(wall_ms())}};
}

}  // namespace gcoord::server
