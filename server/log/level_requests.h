// Requests for the levels of this node's log: which they are, and others until the node ends.
//
// A change is a line of the log itself, with who asked, whatever the levels. One thread, the node's
// loop; the levels are the process's (server/log_levels/present.h).
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

class LogLevelRequests {
 public:
  // `replies` outlives it.
  explicit LogLevelRequests(protocol::ReplySink& replies) : replies_(replies) {}

  // LogLevels. Answered at once: JSON of the levels that hold from now on, or OptionInvalid with
  // the word that is wrong, and nothing is changed.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

 private:
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              const Status& status);

  protocol::ReplySink& replies_;
};

}  // namespace gcoord::server
