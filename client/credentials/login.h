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
#include "protocol/error_codes.h"
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

  enum class Source : std::uint8_t {
    Nothing,
    Own,    // The token that a node gave.
    Given,  // The token of the credentials.
    File,
    Password,
  };

  // By what an answer is matched to what it answers.
  struct Shown {
    Source source = Source::Nothing;
    std::uint64_t turn = 0;  // Of the client's tokens, which are counted.

    bool by_password() const { return source == Source::Password; }
  };

  // The payload of the next Authenticate over such a connection, and what it shows. Failures are
  // evidence with a number (client/net/failure.h). GC6685: others could read it. GC6544: a file
  // cannot be used, or is empty. GC1002: the user has neither a password nor a token. Else why
  // nodes refused the token that there was.
  struct Proof {
    std::vector<std::byte> payload;  // A secret, which whoever has sent it wipes.
    Shown shown;
  };

  gcoord::Result<Proof> next(Privacy privacy) const;

  // The same where it shows a token, for a node that has not said yet who it is: it goes out with
  // the Hello, which spares a round trip. Empty where a password is to be shown, which no node gets
  // that did not answer, and where there is nothing to show, or others could read it.
  Proof early(Privacy privacy) const;

  // The answer of a node to it. Ok: it knows who this is. Else the failure, as of next(); `again`:
  // the next payload shows something else, and may do better. An answer to a token that another one
  // has replaced since it was shown says nothing of that one. `life`: so long the node believes
  // what it was shown, if it does; the connection shall show its login again before.
  struct Outcome {
    gcoord::Status status;
    bool again = false;
    TimePoint life{};
  };

  struct Heard {
    const protocol::ReplySlot& slot;
    std::span<const std::byte> payload;
    TimePoint now;
    Shown shown;
  };

  Outcome take(const Heard& heard);

  // The identity that the nodes confirmed, with the token; nothing before the first answer.
  std::optional<Identity> identity(TimePoint now) const;

 private:
  // Of the tokens that nodes gave, or that were given to the client.
  enum class Tokens : std::uint8_t {
    Good,
    Worn,  // Nodes renew them no more.
    Refused,
  };

  // The proof to show next; the token is empty where that is a password.
  struct Choice {
    Source source = Source::Nothing;
    std::string token;
  };

  // All under the lock. Failures as of next().
  std::span<const Source> order() const;
  bool has(Source source) const;
  gcoord::Result<Choice> choose() const;
  gcoord::Result<std::string> token_of(Source source) const;
  gcoord::Status nothing_left() const;
  Proof proof_of(Choice& choice) const;
  Outcome refused(const protocol::ReplySlot& slot, const Shown& shown);
  void refuse_token(Source source, protocol::ErrorCode code);
  void take_life(TimePoint end, TimePoint life, const Shown& shown);

  Credentials credentials_;
  const Exposure exposure_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::string token_;
  Tokens tokens_ = Tokens::Good;
  protocol::ErrorCode refusal_{};  // Of tokens that are refused.
  std::uint64_t turn_ = 0;         // Rises with each change of what is shown.
  TimePoint whole_life_{};         // The longest that nodes have said of it.
  TimePoint expires_at_{};
  std::optional<Identity> known_;
};

}  // namespace gcoord::client
