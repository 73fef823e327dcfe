// The levels at which this process logs at present.
//
// Whether a line is written is one relaxed load and a branch, so a line that is off costs nothing
// else. Levels are changed at the start, by SIGHUP and by request. Thread-safe: nothing is
// published by a level, so a thread may see a change a little later than another.
#pragma once

#include "server/log_levels/levels.h"

#include <array>
#include <atomic>

namespace gcoord::server {

namespace present_levels {

struct Threshold {
  std::atomic<LogLevel> level{LogLevel::Plain};
};

// By component. Read by log_enabled(), written by set_log_levels().
inline std::array<Threshold, kLogComponentCount> thresholds;

}  // namespace present_levels

// Whether a line of this component and level is written. `level` is not Off.
inline bool log_enabled(LogComponent component, LogLevel level) {
  const auto& threshold = present_levels::thresholds[static_cast<std::size_t>(component)];
  return level >= threshold.level.load(std::memory_order_relaxed);
}

// Plain of every component until it is set.
LogLevels log_levels();
void set_log_levels(const LogLevels& levels);

}  // namespace gcoord::server
