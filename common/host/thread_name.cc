#include "common/host/thread_name.h"

#include <sys/prctl.h>

namespace gcoord {

void name_this_thread(const std::string& name) {
  static_cast<void>(::prctl(PR_SET_NAME, name.c_str()));
}

}  // namespace gcoord
