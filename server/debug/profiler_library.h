// The CPU profiler of gperftools, libprofiler, opened when the first profile is wanted.
//
// Nothing is linked and no header is needed, so that a node starts where the library is missing,
// and its signals and timers exist only in processes that have made a profile (ADR 0087 has the
// reasons for libcurl, which is opened likewise). The functions stay until the process ends.
#pragma once

#include "common/status.h"

#include <string>

namespace gcoord::server {

// Two functions of gperftools/profiler.h; theirs is an ABI that has not changed since 2005.
struct ProfilerLibrary {
  int (*start)(const char* file) = nullptr;  // 0: it does not start.
  void (*stop)() = nullptr;                  // The file is whole then.
};

inline constexpr const char* kProfilerFile = "libprofiler.so.0";

// Unavailable where there is none; the message says which package has it. Thread-safe.
Result<ProfilerLibrary> open_profiler_library(const std::string& file = kProfilerFile);

}  // namespace gcoord::server
