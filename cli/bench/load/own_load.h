// Processor time of this program and its machine during a run: whether a measurement measured the
// program itself.
//
// Source: /proc/self/task/*/stat and /proc/stat (proc(5)), in ticks of the clock, usually 10 ms. A
// field that cannot be read stays 0. One thread.
#pragma once

#include "common/host/core_time.h"

#include <chrono>
#include <cstdint>
#include <map>

namespace gcoord::cli {

// Between two readings; shares are 0 to 1.
struct OwnLoad {
  double cores_used = 0;      // By all threads of this program.
  double busiest_thread = 0;  // Share of a core.
  double machine_busy = 0;    // Share of all cores, by anybody.
};

class OwnLoadMeter {
 public:
  // Reads the counters: the beginning.
  OwnLoadMeter();

  // Since the beginning. Threads that began and ended in between are not seen.
  OwnLoad read() const;

 private:
  struct Counters {
    std::chrono::steady_clock::time_point at;
    std::map<std::uint32_t, std::uint64_t> thread_ticks;
    CoreTime machine;
  };

  static Counters count();

  Counters begin_;
};

// What limited a run, apart from the cluster.
enum class Bound : std::uint8_t {
  None,     // This program had reserves.
  Late,     // It began operations late.
  Thread,   // One of its threads used a whole core.
  Machine,  // All cores of its machine were busy.
  Clients,  // All clients were busy when operations were due.
};

// "none", "late", "thread", "machine", "clients".
const char* bound_name(Bound bound);

}  // namespace gcoord::cli
