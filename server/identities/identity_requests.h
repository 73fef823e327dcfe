// Requests about who a client is: Authenticate, SessionAttach; and the check that a connection
// speaks only for sessions of its own.
//
// A password is checked by the worker's thread, one at a time for each connection and
// kChecksOfSource for each address, so that none takes the whole queue; whether the user exists
// shows neither in the answer nor in its time. The answer carries a token, which this node and
// every other believes from then on without such a check: a signature is checked here, in the loop,
// and remembered. Failures are bounded (attempt_limits.h). The keys come from the cluster's secret;
// without one there are neither passwords nor keys of sessions, and certificates alone say who
// somebody is. One thread, the node's loop.
#pragma once

#include "protocol/identities/authenticate_messages.h"
#include "protocol/reply_sink.h"
#include "security/credentials/session_key.h"
#include "security/credentials/token_ring.h"
#include "security/roles/role_table.h"
#include "server/identities/attempt_limits.h"
#include "server/identities/connection_identity.h"
#include "server/identities/identity_metrics.h"
#include "server/identities/password_worker.h"
#include "server/identities/proven_connections.h"
#include "server/identities/session_gate.h"
#include "server/identities/token_cache.h"
#include "server/identities/user_directory.h"
#include "server/platform/choices.h"
#include "server/requests/client_request.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

// How long a token lasts by default.
inline constexpr std::uint64_t kTokenLifeSeconds = 600;

// Passwords of one address that wait or are checked at once; the worker's queue is four of these.
inline constexpr std::uint32_t kChecksOfSource = 32;

// Keys derived from the cluster's secret; empty without one.
struct IdentityKeys {
  security::TokenRing tokens;
  security::SessionKeys sessions;
};

// Whether the user of a good token still has what it says: UsersBehind, TokenRevoked.
Status check_token_user(const UserDirectory& users, const security::TokenClaims& claims);

class IdentityRequests {
 public:
  // All outlive it.
  struct Environment {
    protocol::ReplySink& replies;
    ConnectionIdentities& connections;
    const UserDirectory& users;
    PasswordWorker& passwords;
    IdentityMetrics& metrics;
    std::function<std::uint64_t()> now_ms;   // Only grows.
    std::function<std::uint64_t()> wall_us;  // Unix time.
    std::uint64_t token_life_s = kTokenLifeSeconds;
  };

  IdentityRequests(Environment environment, SessionKeyMode mode);

  // Other secrets, or other strictness, from now on.
  void set_keys(IdentityKeys keys);

  const security::TokenRing& tokens() const { return keys_.tokens; }

  void set_mode(SessionKeyMode mode) { mode_ = mode; }

  // Hears of each session whose key a connection has shown.
  void set_on_attached(std::function<void(protocol::ConnectionId, SessionId)> on_attached) {
    on_attached_ = std::move(on_attached);
  }

  // Closes connections whose proof has ended (proven_connections.h).
  void set_cut(ProvenConnections::Cut cut) { proven_.set_cut(std::move(cut)); }

  // Authenticate or SessionAttach. Answered now, or when the password was checked.
  void on_request(const ClientRequest& request);

  // Whether the connection may make this request as far as its sessions are concerned; if not, it
  // was answered. Before the request is served.
  bool admits(const ClientRequest& request);

  // The connection has opened a session and is told so by this reply: it speaks for the session
  // from now on. The bytes of its key for the client, valid until the next call; none: the client
  // does not know of keys, or there are none, or the session may be somebody else's.
  std::span<const std::byte> on_opened(protocol::ConnectionId connection,
                                       const protocol::ReplySlot& reply);

  // How often a connection that was somebody has become somebody else: what it watches and waits
  // for is to be judged anew.
  std::uint64_t reidentified() const { return reidentified_; }

  // Whether the connection has opened the session, or has shown its key.
  bool has_attached(protocol::ConnectionId connection, SessionId session) const;

  // Makes the verifier of a new password for the table of users, later: security/roles. Fails for
  // what is no password (GC6539), and when too many wait (GC6532).
  void hash_password(std::string password,
                     std::function<void(Result<security::Verifier>)> on_hashed);

  ConnectionIdentities& connections() const { return env_.connections; }

  // The user that the connection has proven to be, by a certificate too; empty: none.
  std::string proven_user(protocol::ConnectionId connection) const;

  // Once per pass: passwords that were checked, and proofs that have ended. Whether there were any.
  bool advance();

 private:
  // A password that waits for the worker, or is there.
  struct Check {
    protocol::ConnectionId connection;
    PasswordWorker::Abandoned abandoned;
  };

  // A request whose password was checked.
  struct Checked {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    SourceBits source{};
    std::string user;
    std::string verifier;  // That it was checked against; empty: a decoy.
  };

  void authenticate(const ClientRequest& request, ConnectionIdentity& connection);
  void abandon_checks();
  void check_password(const ClientRequest& request,
                      ConnectionIdentity& connection,
                      const protocol::AuthenticateOrder& order);
  void on_checked(const Checked& checked, PasswordWorker::Outcome outcome);
  void check_token(const ClientRequest& request,
                   ConnectionIdentity& connection,
                   std::string_view token);
  Result<security::TokenClaims> verify(std::string_view token, ConnectionIdentity& connection);
  void become(ConnectionIdentity& connection,
              security::Principal principal,
              const ConnectionProof& proof);
  void attach(const ClientRequest& request, ConnectionIdentity& connection);
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              protocol::ErrorCode error);
  protocol::ErrorCode check(const ClientRequest& request);
  bool requires_keys() const;
  void note_certificate(protocol::ConnectionId connection);

  std::uint64_t now_s() const { return env_.wall_us() / 1'000'000; }

  Environment env_;
  SessionKeyMode mode_;
  IdentityKeys keys_;
  TokenCache known_;
  AttemptLimits limits_;
  std::map<SourceBits, std::vector<Check>> checking_;  // Of those that have any.
  ProvenConnections proven_;
  std::uint64_t reidentified_ = 0;
  security::SessionKey granted_;  // See on_opened().
  std::function<void(protocol::ConnectionId, SessionId)> on_attached_;
};

}  // namespace gcoord::server
