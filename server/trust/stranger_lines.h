// Lines of the log about links to the peer port that were turned away: by address, with the reason
// and the remedy.
//
// Whoever reaches the port causes them, so each reason has a few lines at once and then one in ten
// seconds, which says how many were left out. The thread of the peer network.
#pragma once

#include "netcore/channel/drop_reason.h"
#include "netcore/peers/dropped_stranger.h"
#include "server/platform/log_rate_limit.h"

#include <array>
#include <optional>
#include <string>

namespace gcoord::server {

class StrangerLines {
 public:
  // Logs a warning, if there may be one.
  void on_dropped(const netcore::DroppedStranger& dropped);

  // The line that on_dropped() logs; nothing: none now.
  std::optional<std::string> line_of(const netcore::DroppedStranger& dropped);

 private:
  std::array<LogRateLimit, netcore::kDropReasonCount> limits_;
};

}  // namespace gcoord::server
