// Resources that this process uses: time on processors, memory, descriptors, threads.
//
// The names and units are those of Prometheus's client libraries (process_cpu_seconds_total and its
// siblings). Source: proc(5), /proc/self/stat, /proc/self/limits, /proc/self/fd, /proc/stat. Any
// thread.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string_view>

namespace gcoord {

struct ProcessFacts {
  double cpu_seconds = 0;  // User and system, of all its threads.
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t threads = 0;
  std::uint64_t descriptors_open = 0;
  std::uint64_t descriptors_max = 0;  // The soft limit; 0: none.
  double start_unix_seconds = 0;
};

// Of this process. Unavailable where /proc cannot be read.
Result<ProcessFacts> read_process_facts();

// The fields of /proc/PID/stat; whatever the process calls itself, also with spaces and brackets.
// `start_ticks` counts from the start of the machine, in `ticks_per_second`. DataLoss when the text
// is none.
struct ProcessStat {
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
};

Result<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace gcoord
