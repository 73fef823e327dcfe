// Commands that gcoordctl member add prints for whoever starts the new node. Pure but for
// trust_of(); one thread.
#pragma once

#include "gcoord/client.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

// How the nodes of a cluster are spoken with.
struct JoinTrust {
  bool clients = false;  // Over TLS on client ports.
  bool peers = false;    // Over TLS between nodes.
};

// By what nodes say of their connections; without other nodes as clients do. `clients`: whether
// this client speaks TLS.
JoinTrust trust_of(client::Client& client, bool clients);

// Starts the new node: an address is there for it to put its own in, and files of TLS lie where
// `cluster init` has them.
std::string join_command(const client::ChangedMember& added, const JoinTrust& trust);

// Makes its certificate with the CA of `cluster init`; empty: it needs none.
std::string certificate_command(const client::ChangedMember& added, const JoinTrust& trust);

}  // namespace gcoord::cli
