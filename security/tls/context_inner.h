// OpenSSL's part of a context. For sources of this room only.
#pragma once

#include "security/tls/client_tickets.h"
#include "security/tls/context.h"
#include "security/tls/openssl_owned.h"
#include "security/tls/ticket_keys.h"
#include "security/tls/verified_chains.h"

#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>

namespace gcoord::security {

struct TlsContext::Inner {
  OwnedSslContext context;
  TicketKeys ticket_keys;        // A server's.
  ClientTickets client_tickets;  // A client's; locked by themselves.
  VerifiedChains verified_chains;
  bool keeps_chains = false;
  std::int64_t lists_until_s = std::numeric_limits<std::int64_t>::max();

  // The clock by which certificates, lists and tickets are judged; tests have another.
  std::function<std::int64_t()> now_s = [] { return std::int64_t{std::time(nullptr)}; };
};

}  // namespace gcoord::security
