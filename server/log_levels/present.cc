#include "server/log_levels/present.h"

namespace gcoord::server {

LogLevels log_levels() {
  LogLevels levels{};
  for (const LogComponent component : log_components()) {
    const auto& threshold = present_levels::thresholds[static_cast<std::size_t>(component)];
    levels.set(component, threshold.level.load(std::memory_order_relaxed));
  }
  return levels;
}

void set_log_levels(const LogLevels& levels) {
  for (const LogComponent component : log_components()) {
    auto& threshold = present_levels::thresholds[static_cast<std::size_t>(component)];
    threshold.level.store(levels.of(component), std::memory_order_relaxed);
  }
}

}  // namespace gcoord::server
