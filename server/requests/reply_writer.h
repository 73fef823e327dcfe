// The lock service's way to its clients: replies, refusals and redirections, counted.
//
// Every request that was taken is answered exactly once. One thread, the node's loop.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/lateness/slow_requests.h"
#include "server/requests/client_request.h"
#include "server/requests/service_metrics.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

class ReplyWriter {
 public:
  // All outlive it.
  ReplyWriter(protocol::ReplySink& sink, LockServiceMetrics& metrics, SlowRequests& slow)
      : sink_(sink), metrics_(metrics), slow_(slow) {}

  // For whoever answers a request that it kept for a while.
  SlowRequests& slow() { return slow_; }

  void send(protocol::ConnectionId connection,
            const protocol::ReplySlot& reply,
            std::span<const std::byte> payload = {});

  // A success.
  void answer(const ClientRequest& request, std::span<const std::byte> payload = {});

  // A request that was turned away for its form, a cap or a missing ability.
  void refuse(const ClientRequest& request, protocol::ErrorCode error);

  // "Ask there": NotLeader with the hint, or NoLeader when no leader is known.
  void redirect(const ClientRequest& request, NodeId leader);

  // See protocol::ReplySink.
  void park(protocol::ConnectionId connection) { sink_.park(connection); }

  void unpark(protocol::ConnectionId connection) { sink_.unpark(connection); }

 private:
  protocol::ReplySink& sink_;
  LockServiceMetrics& metrics_;
  SlowRequests& slow_;
};

}  // namespace gcoord::server
