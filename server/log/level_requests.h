// Requests for the levels of this node's log: which they are, and others until the node ends.
//
// A change is a line of the log itself, with who asked, whatever the levels; who asks for what
// holds already leaves none. At most kLinesMax in kWindow, and the next line says how many were
// left out: else anybody could fill the disk and push all else out of the newest lines in memory.
// One thread, the node's loop; the levels are the process's (server/log_levels/present.h).
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

class LogLevelRequests {
 public:
  static constexpr std::uint32_t kLinesMax = 10;
  static constexpr std::chrono::seconds kWindow{10};

  // `replies` outlives it.
  explicit LogLevelRequests(protocol::ReplySink& replies) : replies_(replies) {}

  // LogLevels. Refused if who asks is not printable, too. Answered at once: JSON of the levels that
  // hold from now on, or OptionInvalid with the word that is wrong, and nothing is changed.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

 private:
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              const Status& status);

  bool may_write();

  protocol::ReplySink& replies_;
  std::chrono::steady_clock::time_point window_begin_;
  std::uint32_t lines_ = 0;       // In the window.
  std::uint64_t suppressed_ = 0;  // Since the last line.
};

}  // namespace gcoord::server
