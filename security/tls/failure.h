// Failure of a session as OpenSSL reports it: a Status with a number of its own (errors.h).
//
// For sources of this room: it reads the error queue of the calling thread, and empties it.
#pragma once

#include "common/status.h"
#include "security/tls/openssl_owned.h"

#include <string>

namespace gcoord::security {

// `open`: the handshake was done before. Never Ok.
Status tls_failure(const SSL& session, bool open);

// The oldest reason of the thread's error queue, in words.
std::string openssl_reason();

}  // namespace gcoord::security
