#include "server/endpoints/connection_sweep.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void sweep_connection(Connection& connection, const SweepLimits& limits, std::uint64_t now_ms) {
  Connection::Swept& swept = connection.swept;
  if (connection.blocked() && swept.blocked_since == 0) {
    swept.blocked_since = now_ms;
  }
  if (std::exchange(swept.active, false)) {
    swept.active_at = now_ms;
    connection.trim();
  } else {
    connection.shrink();
  }
  if (!connection.begun()) {
    swept.begun_since = 0;
  } else if (swept.begun_since == 0 || swept.begun_after != connection.last_sequence()) {
    swept.begun_since = now_ms;
    swept.begun_after = connection.last_sequence();
  }
  if (!connection.share().unsettled()) {
    swept.unsettled_since = 0;
  } else if (swept.unsettled_since == 0) {
    swept.unsettled_since = now_ms;
  }
  const std::uint64_t quiet_ms = now_ms - std::min(now_ms, swept.active_at);
  const bool late = !connection.welcomed() && quiet_ms > limits.hello_ms;
  const bool idle = connection.outstanding() == 0 && quiet_ms > limits.idle_ms;
  if (connection.blocked() && now_ms - swept.blocked_since > limits.blocked_ms) {
    connection.close(CloseReason::SlowReader);
  } else if (swept.unsettled_since != 0 && now_ms - swept.unsettled_since > limits.hello_ms) {
    connection.close(CloseReason::Full);
  } else if (late || idle) {
    connection.close(CloseReason::Idle);
  } else if (swept.begun_since != 0 && now_ms - swept.begun_since > limits.frame_ms) {
    connection.close(CloseReason::SlowFrame);
  }
}

}  // namespace gcoord::server
