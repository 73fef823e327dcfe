#include "common/host/background_thread.h"

#include <sys/resource.h>

namespace gcoord {

void make_background_thread() {
#ifdef __linux__
  // Of a weight of 335 beside 1024.
  constexpr int kNiceLevel = 5;
  // 0 is the calling thread, and not its process: a deviation of Linux from POSIX that it keeps.
  if (::getpriority(PRIO_PROCESS, 0) < kNiceLevel) {
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNiceLevel));
  }
#endif
}

}  // namespace gcoord
