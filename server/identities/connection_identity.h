// Identity of a client connection: its principal, and the sessions that it speaks for. The loop's
// thread.
#pragma once

#include "protocol/access/messages.h"
#include "protocol/hello.h"
#include "protocol/reply_sink.h"
#include "security/credentials/principal.h"
#include "server/identities/attached_sessions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace gcoord::server {

// An IPv6 address, or the first half of one: as many bits as failed attempts are counted by.
using SourceBits = std::array<unsigned char, 16>;

// By what a principal was proven, and until when that holds.
struct ConnectionProof {
  protocol::ProofKind kind = protocol::ProofKind::None;
  std::uint64_t until_s = 0;  // Unix time; 0: it has no end.
  // Of the users as of which it holds; of a password and a token.
  std::uint64_t roles_epoch = 0;
};

struct ConnectionIdentity {
  explicit ConnectionIdentity(AttachmentBudget* budget = nullptr) : attached(budget) {}

  bool has(protocol::Feature feature) const {
    return (features & static_cast<std::uint64_t>(feature)) != 0;
  }

  // The client closes the session. It goes on to speak for the last kClosedKept of these, since it
  // may have to say so again.
  void note_closed(SessionId session) {
    if (std::ranges::find(closed, session) != closed.end()) {
      return;
    }
    closed.push_back(session);
    if (closed.size() > kClosedKept) {
      attached.remove(closed.front());
      closed.pop_front();
    }
  }

  static constexpr std::size_t kClosedKept = 64;

  security::Principal principal;
  ConnectionProof proof;       // Of the principal; of an Anonymous one a Certificate is foreign.
  std::uint64_t features = 0;  // That both ends have; 0 before the Welcome.
  SourceBits source{};
  SourceBits address{};    // All of it, IPv4 mapped into IPv6.
  std::uint16_t port = 0;  // Of that address; 0 of a Unix socket.
  std::string client;      // The client's own name; not printable perhaps.
  AttachedSessions attached;
  std::deque<SessionId> closed;
  std::uint32_t attempts_failed = 0;
  bool checking = false;  // A password of it is being checked.
  bool noted = false;     // It has made a request.
};

// The connections of a node, as far as this room sees them.
class ConnectionIdentities {
 public:
  // nullptr when the connection is gone; else valid within the turn.
  virtual ConnectionIdentity* identity(protocol::ConnectionId connection) = 0;

 protected:
  ~ConnectionIdentities() = default;
};

// Whether the client showed a good certificate that names nobody of this cluster.
inline bool has_foreign_certificate(const ConnectionIdentity& identity) {
  return identity.principal.kind == security::PrincipalKind::Anonymous &&
         identity.proof.kind == protocol::ProofKind::Certificate;
}

// The identity that a node reports to the client of a connection; of one that is gone nobody.
// Defined in connection_proof.cc.
protocol::AccessSelf self_of(ConnectionIdentities& connections, protocol::ConnectionId connection);

}  // namespace gcoord::server
