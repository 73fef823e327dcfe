// Proofs that a client shows to nodes: its login, and the keys of its sessions. See the two
// headers; both are thread-safe.
#pragma once

#include "client/credentials/login.h"
#include "client/credentials/session_keyring.h"

#include <memory>

namespace gcoord::client {

struct ClientAccess {
  std::shared_ptr<Login> login;  // Never nullptr.
  SessionKeyring keyring;
};

}  // namespace gcoord::client
