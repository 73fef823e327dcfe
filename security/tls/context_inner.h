// OpenSSL's part of a context. For sources of this room only.
#pragma once

#include "security/tls/chain_links.h"
#include "security/tls/client_tickets.h"
#include "security/tls/context.h"
#include "security/tls/openssl_owned.h"
#include "security/tls/ticket_keys.h"
#include "security/tls/verified_chains.h"

#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::security {

// What callbacks of OpenSSL need of a session: its application data, of both sides.
struct SessionTies {
  std::string endpoint;                     // By whom a client's tickets are kept.
  std::shared_ptr<const ChainLinks> links;  // Of the verified chain of the other side.
};

// The chain that was kept with a ticket (context.cc); nullptr: none was.
std::shared_ptr<const ChainLinks> kept_links(SSL_SESSION& ticket);

struct TlsContext::Inner {
  OwnedSslContext context;
  std::vector<OwnedRevocations> lists;  // Those in the context's store.
  TicketKeys ticket_keys;               // A server's.
  ClientTickets client_tickets;         // A client's; locked by themselves.
  VerifiedChains verified_chains;
  bool keeps_chains = false;
  std::int64_t lists_until_s = std::numeric_limits<std::int64_t>::max();

  // The clock by which certificates, lists and tickets are judged; tests have another.
  std::function<std::int64_t()> now_s = [] { return std::int64_t{std::time(nullptr)}; };
};

}  // namespace gcoord::security
