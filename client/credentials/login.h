// The login of a client: the user that it speaks for, and the token that it got for the password.
//
// A password is shown once; what comes for it, a token, is shown to every other node and after
// every reconnection, and renewed while two thirds of its time have passed. Only when no node takes
// the token any more the password is shown again. A token of a file is read anew for each
// connection, so that somebody else may renew it there. Thread-safe: the connections of a client
// are on several threads. Secrets are wiped at the end.
#pragma once

#include "common/status.h"
#include "gcoord/clock.h"
#include "gcoord/options.h"
#include "gcoord/types.h"
#include "protocol/request.h"

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::client {

class Login {
 public:
  explicit Login(Credentials credentials) : credentials_(std::move(credentials)) {}

  ~Login();
  Login(const Login&) = delete;
  Login& operator=(const Login&) = delete;

  // Whether there is anything to show.
  bool wanted() const;

  // The payload of the next Authenticate. GC6544: a file cannot be used.
  gcoord::Result<std::vector<std::byte>> next();

  // What a node answered to it. Ok: it knows who this is. Else the failure; `again`: the next
  // payload shows something else, and may do better.
  struct Outcome {
    gcoord::Status status;
    bool again = false;
  };

  Outcome take(const protocol::ReplySlot& slot, std::span<const std::byte> payload, TimePoint now);

  // When to authenticate anew for another token; kTimeNever: there is none.
  TimePoint renew_at() const;

  // No answer came, or a failure: not before this moment.
  void put_off(TimePoint until);

  // Who the nodes say this is, with the token; nothing before the first answer.
  std::optional<Identity> identity(TimePoint now) const;

 private:
  const Credentials credentials_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::string token_;
  bool token_refused_ = false;  // The one that was given is not taken.
  bool showed_token_ = false;   // With the last payload.
  TimePoint renew_at_ = TimePoint::max();
  TimePoint expires_at_{};
  std::optional<Identity> known_;
};

}  // namespace gcoord::client
