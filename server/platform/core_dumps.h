// Privacy of this process's memory: core files, and debuggers of its user. Any thread.
#pragma once

#include <string_view>

namespace gcoord::server {

// From now on the process writes no core files, and only the superuser may attach to it: for one
// that has keys. It is logged, once for a process. `holds`: what the memory has, for the log.
void keep_memory_private(std::string_view holds);

}  // namespace gcoord::server
