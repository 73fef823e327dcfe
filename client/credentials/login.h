// The login of a client: the user that it speaks for, and the token that it got for the password.
//
// A password is shown once; what comes for it, a token, is shown to every other node and after
// every reconnection, and again by each connection while it holds, because a node ends a connection
// with the token that proved it (client/nodes/node_login.h). Nodes renew a token for a day at most.
// When they do so no more, or take it no more, the password is shown again. A token of a file is
// read anew for each connection, so that somebody else may renew it there. Thread-safe: the
// connections of a client are on several threads. Secrets are wiped at the end.
#pragma once

#include "client/net/connection.h"
#include "common/status.h"
#include "gcoord/clock.h"
#include "gcoord/options.h"
#include "gcoord/types.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::client {

// Overwrites the password and the token, also what a moved text has left behind, and empties them.
void wipe(Credentials& credentials);

// The same at the end of a block, of what was moved or copied out of it meanwhile.
class CredentialsWiper {
 public:
  explicit CredentialsWiper(Credentials& credentials) : credentials_(credentials) {}

  ~CredentialsWiper() { wipe(credentials_); }

  CredentialsWiper(const CredentialsWiper&) = delete;
  CredentialsWiper& operator=(const CredentialsWiper&) = delete;

 private:
  Credentials& credentials_;
};

// Whether passwords and tokens may go where others can read them.
enum class Exposure : std::uint8_t { Refused, Allowed };

class Login {
 public:
  // Copies them.
  explicit Login(const Credentials& credentials, Exposure exposure = Exposure::Refused)
      : credentials_(credentials), exposure_(exposure) {}

  ~Login();
  Login(const Login&) = delete;
  Login& operator=(const Login&) = delete;

  // Whether there is anything to show.
  bool wanted() const;

  // Whether passwords and tokens may go over such a connection.
  bool may_go_over(Privacy privacy) const {
    return privacy == Privacy::Private || exposure_ == Exposure::Allowed;
  }

  // The payload of the next Authenticate over such a connection, and what it shows. Failures are
  // evidence with a number (client/net/failure.h). GC6685: others could read it. GC6544: a file
  // cannot be used.
  struct Proof {
    std::vector<std::byte> payload;  // A secret, which whoever has sent it wipes.
    bool by_password = false;
    std::uint64_t turn = 0;  // Which token of the client's: they are counted.
  };

  gcoord::Result<Proof> next(Privacy privacy) const;

  // The same where it shows a token, for a node that has not said yet who it is: it goes out with
  // the Hello, which spares a round trip. Empty where a password is to be shown, which no node gets
  // that did not answer, and where there is nothing to show, or others could read it.
  Proof early(Privacy privacy) const;

  // What a node answered to it. Ok: it knows who this is. Else the failure, as of next(); `again`:
  // the next payload shows something else, and may do better. A refusal of a token that another one
  // has replaced since it was shown, which `turn` says, is no word against that one. `life`: so
  // long the node believes it, if it does; the connection shall show its login again before.
  struct Outcome {
    gcoord::Status status;
    bool again = false;
    TimePoint life{};
  };

  struct Heard {
    const protocol::ReplySlot& slot;
    std::span<const std::byte> payload;
    TimePoint now;
    std::optional<std::uint64_t> turn{};
    bool by_password = false;  // That was shown.
  };

  Outcome take(const Heard& heard);

  // Who the nodes say this is, with the token; nothing before the first answer.
  std::optional<Identity> identity(TimePoint now) const;

 private:
  // The token to show next; empty: a password. Failures as of next(). Under the lock.
  gcoord::Result<std::string> token_to_show() const;
  Proof proof_of(std::string& token) const;
  Outcome refused(const protocol::ReplySlot& slot, std::uint64_t turn);
  void take_life(TimePoint life, bool by_password);

  bool has_password() const { return !credentials_.user.empty() && !credentials_.password.empty(); }

  Credentials credentials_;
  const Exposure exposure_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::string token_;
  bool token_refused_ = false;  // The one that was given is not taken.
  std::uint64_t turn_ = 0;      // Rises with each change of what is shown.
  TimePoint whole_life_{};      // The longest that nodes have said of it.
  bool worn_ = false;           // They said less than half of that: they renew it no more.
  TimePoint expires_at_{};
  std::optional<Identity> known_;
};

}  // namespace gcoord::client
