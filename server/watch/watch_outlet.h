// Outlet of watches: what is sent to their clients, and whose connection takes no more.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/watch/watch.h"
#include "server/watch/watch_metrics.h"
#include "server/watch/watch_options.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

class WatchOutlet {
 public:
  // All outlive it.
  WatchOutlet(const WatchHubOptions& options, protocol::ReplySink& replies, WatchMetrics& metrics)
      : options_(options), replies_(replies), metrics_(metrics) {}

  // Less what the client may not see; nothing to a watch that is not allowed any more.
  void send(Watch& watch, std::span<const std::byte> payload);

  // Of a request for a watch.
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              protocol::ErrorCode error);

  // Whether its connection is no more.
  bool gone(const Watch& watch) const;

  // Whether its connection has its part, one of so many, of what all may leave unread.
  bool jammed(const Watch& watch, std::size_t connections) const;

 private:
  void push(const Watch& watch, std::span<const std::byte> payload);

  const WatchHubOptions& options_;
  protocol::ReplySink& replies_;
  WatchMetrics& metrics_;
};

}  // namespace gcoord::server
