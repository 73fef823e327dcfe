// The gate of a node's clients as a whole: their requests, what they are answered, their watches,
// and their waits.
//
// The node's loop.
#pragma once

#include "common/host/metrics.h"
#include "server/gate/reply_gate.h"
#include "server/gate/request_gate.h"
#include "server/gate/roles_copy.h"
#include "server/gate/wait_gate.h"
#include "server/gate/watch_gate.h"

namespace gcoord::server {

struct ClientGate {
  // The registry outlives it.
  explicit ClientGate(MetricsRegistry& metrics) : requests(metrics) {}

  RequestGate requests;
  ReplyGate replies{requests};
  WatchGate watches{requests};
  WaitGate waits{requests};
};

}  // namespace gcoord::server
