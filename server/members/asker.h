// A request about members and where its answer goes. Plain value; one thread.
#pragma once

#include "common/status.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

namespace gcoord::server {

struct ViewAsker {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
};

// Whether the request may be looked at; else it is answered. `supported`: as of the node's turn.
bool admit_asker(protocol::ReplySink& replies, const ViewAsker& asker, bool supported);

// Answers with the status, which is not OK.
void refuse_asker(protocol::ReplySink& replies, const ViewAsker& asker, const Status& status);

}  // namespace gcoord::server
