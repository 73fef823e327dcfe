// OpenSSL's part of a context. For sources of this room only.
#pragma once

#include "security/tls/client_tickets.h"
#include "security/tls/context.h"
#include "security/tls/openssl_owned.h"
#include "security/tls/ticket_keys.h"

namespace gcoord::security {

struct TlsContext::Inner {
  OwnedSslContext context;
  TicketKeys ticket_keys;        // A server's.
  ClientTickets client_tickets;  // A client's; locked by themselves.
};

}  // namespace gcoord::security
