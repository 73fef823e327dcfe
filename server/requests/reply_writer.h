// The lock service's way to its clients: replies, refusals and redirections, counted.
//
// Every request that was taken is answered exactly once. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/lateness/slow_requests.h"
#include "server/requests/client_request.h"
#include "server/requests/service_metrics.h"

#include <cstddef>
#include <span>
#include <string_view>

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

  // "Ask there": NotLeader with the hint and its term, or NoLeader when no leader is known.
  void redirect(const ClientRequest& request, NodeId leader, Term term = {});

  // "It names another term than mine", with the term to name.
  void refuse_term(const ClientRequest& request, Term term);

  // See protocol::ReplySink.
  void park(protocol::ConnectionId connection) { sink_.park(connection); }

  void unpark(protocol::ConnectionId connection) { sink_.unpark(connection); }

  const security::Principal& principal(protocol::ConnectionId connection) const {
    return sink_.principal(connection);
  }

  bool lists(protocol::ConnectionId connection, std::string_view name) const {
    return sink_.lists(connection, name);
  }

 private:
  protocol::ReplySink& sink_;
  LockServiceMetrics& metrics_;
  SlowRequests& slow_;
};

}  // namespace gcoord::server
