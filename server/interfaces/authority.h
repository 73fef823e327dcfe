// Authority under which a command is proposed to a log: whose it is, and the rights it was judged
// to lack.
//
// A node's request gate judges a request before its handler (server/gate) and fills this in; it
// travels with the command, and a log on a device checks it against the command's kind once more
// (server/resident/node/lock_ingress.h). All zero is the node itself, which proposes what nobody
// asked for, and every client where rights are not checked: nothing is withheld. Plain value.
#pragma once

#include <cstdint>

namespace gcoord::server {

struct Authority {
  std::uint64_t principal = 0;  // A number of this node's life (RightsCache); 0: the node itself.
  std::uint64_t withheld = 0;   // Bits of security::Right that the request was not found to have.

  friend bool operator==(const Authority&, const Authority&) = default;
};

}  // namespace gcoord::server
