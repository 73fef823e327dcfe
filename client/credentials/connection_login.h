// The login of one connection: what it showed last, and when it shows its login again.
//
// A node ends a connection when the time of the token that proved it is over. Each connection shows
// its login again before, in place: what runs on it goes on. It does so at a moment of its own,
// because the clients of a node that failed come to another one all at once. One thread, that of
// the connection.
#pragma once

#include "client/credentials/login.h"
#include "client/net/connection.h"
#include "client/net/time_never.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::client {

// Whether this is an answer to what a ConnectionLogin sent.
bool is_login(const protocol::ReplySlot& slot);

class ConnectionLogin {
 public:
  ConnectionLogin() = default;

  // The moments of connections with another seed are others.
  explicit ConnectionLogin(std::uint64_t seed) : seed_(seed) {}

  // Queues the proof, which is wiped; Connection::flush() sends it.
  void show(Connection& connection, Login::Proof proof);

  // Whether anything was shown.
  bool sent() const { return shown_count_ != 0; }

  // Whether a password was shown and has had no answer yet.
  bool awaits_password() const;

  struct Answer {
    const protocol::ReplySlot& slot;
    std::span<const std::byte> payload;
    TimePoint now;
  };

  // The node's answer to the first login of the connection. GC4014: nothing was shown to which this
  // is one.
  Login::Outcome take(const Answer& answer, Login& login);

  // Its answer to a later one. A refusal ends no connection: it serves until the node ends it, and
  // the next one hears why.
  void take_renewal(const Answer& answer, Login& login);

  // When to show the login again; kTimeNever: it is not believed for a time.
  TimePoint renew_at() const { return renew_at_; }

  // The proof to show then. Nothing where there is none to show now, as of a file that somebody
  // writes: then there may be one after a pause, which begins now in any case.
  std::optional<Login::Proof> renewal(const Connection& connection,
                                      const Login& login,
                                      TimePoint now);

  // Shows it and sends it. Without an answer until then it is shown again.
  void renew(Connection& connection, Login::Proof proof, TimePoint until);

 private:
  // Proofs without an answer yet, and the request that showed each: one, or more where a node lets
  // a renewal wait.
  struct Pending {
    std::uint64_t request_id = 0;
    Login::Shown shown;
  };

  TimePoint renewal_after(TimePoint life, const Login::Shown& shown) const;

  std::uint64_t seed_ = 0;
  std::uint64_t shown_count_ = 0;
  std::vector<Pending> pending_;  // The oldest first.
  TimePoint renew_at_ = kTimeNever;
};

}  // namespace gcoord::client
