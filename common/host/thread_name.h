// Names of the threads of a process, as the kernel and its tools show them:
// /proc/PID/task/TID/comm, ps -L, top -H, debuggers, and the samples of a node's debug page.
//
// A thread that was not named has the name of the one that started it. Any thread; never fails.
#pragma once

#include <string>

namespace gcoord {

// Names the calling thread. The kernel keeps 15 bytes; what is beyond is cut.
void name_this_thread(const std::string& name);

}  // namespace gcoord
