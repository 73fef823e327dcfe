// Session tickets that a client has got, by whom it got them from: the next connection to the same
// endpoint resumes and needs no certificates (RFC 8446 2.2).
//
// One per endpoint, at most kEndpointsMax endpoints; each is used once, so that nobody on the wire
// can link connections by it (RFC 8446 C.4). Any thread.
#pragma once

#include "security/tls/openssl_owned.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace gcoord::security {

class ClientTickets {
 public:
  static constexpr std::size_t kEndpointsMax = 256;

  // Takes the place of an older one of this endpoint.
  void put(const std::string& endpoint, OwnedSslSession session);

  // nullptr if there is none.
  OwnedSslSession take(const std::string& endpoint);

 private:
  std::mutex mutex_;
  std::map<std::string, OwnedSslSession> sessions_;
};

}  // namespace gcoord::security
