// A request about members and where its answer goes. Plain value; one thread.
#pragma once

#include "common/status.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "security/credentials/principal.h"

#include <string>

namespace gcoord::server {

struct ViewAsker {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
};

// Whether the request may be looked at; else it is answered.
bool admit_asker(protocol::ReplySink& replies, const ViewAsker& asker);

// Answers with the status, which is not OK.
void refuse_asker(protocol::ReplySink& replies, const ViewAsker& asker, const Status& status);

// Who ordered it, for the ledger: the connection's principal if it has one, whatever the order
// says.
void note_author(const security::Principal& principal, std::string& who);

}  // namespace gcoord::server
