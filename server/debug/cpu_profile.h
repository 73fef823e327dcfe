// A CPU profile of this process in the format that pprof reads.
//
// libprofiler interrupts whichever thread runs a hundred times a second of processor time (SIGPROF)
// and notes its stack. The profile never touches a disk. One at a time; which thread calls does not
// matter.
#pragma once

#include "common/status.h"
#include "server/debug/profiler_library.h"

#include <chrono>
#include <stop_token>
#include <string>

namespace gcoord::server {

// Waits for the time. Cancelled when a stop was requested before, Unavailable when the profiler
// does not start, ResourceExhausted when there is no memory or the profile is above 8 MiB.
Result<std::string> cpu_profile(const ProfilerLibrary& library,
                                std::chrono::milliseconds time,
                                const std::stop_token& stop);

}  // namespace gcoord::server
