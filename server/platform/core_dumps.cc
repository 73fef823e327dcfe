#include "server/platform/core_dumps.h"

#include "server/platform/operator_log.h"

#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace gcoord::server {

void keep_memory_private(std::string_view holds) {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) {
    return;
  }
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return log_warning(LogComponent::Node,
                       "memory has {} and would be in a core file: prctl: {}",
                       holds,
                       std::strerror(errno));
  }
  log_info(LogComponent::Node,
           "memory has {}: this process writes no core files, and only root may attach to it",
           holds);
}

}  // namespace gcoord::server
