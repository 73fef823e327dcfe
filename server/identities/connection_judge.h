// Judge of connections: whether one may be, by its address, and by who it has proven to be.
//
// The interface between the front end, which has the connections, and whoever limits them
// (server/limits). The loop's thread.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "security/credentials/principal.h"
#include "security/limits/network.h"
#include "security/tls/peer.h"

namespace gcoord::server {

// The client at the other end of a connection. Views for the call only.
struct ConnectionFacts {
  protocol::ConnectionId id;
  const security::Principal& principal;
  const security::TlsPeer* peer = nullptr;  // None: it showed no certificate.
};

class ConnectionJudge {
 public:
  // One has come from this address; before its handshake. Not None: it must go, and was not taken
  // note of.
  virtual protocol::ErrorCode on_accepted(protocol::ConnectionId connection,
                                          const security::AddressBits& address) = 0;

  // It has said Hello, or proven to be somebody else than before. Not None: it must go, and nothing
  // is known of it any more.
  virtual protocol::ErrorCode on_identified(const ConnectionFacts& facts) = 0;

  // The last answer to a request of it: a session was opened, or a watch has ended.
  virtual void on_reply(protocol::ConnectionId connection, const protocol::ReplySlot& reply) = 0;

  // It is gone, whether it was noted or not.
  virtual void on_closed(protocol::ConnectionId connection) = 0;

 protected:
  ~ConnectionJudge() = default;
};

}  // namespace gcoord::server
