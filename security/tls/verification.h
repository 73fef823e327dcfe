// Verification of the certificates that the other side shows. For sources of this room only.
#pragma once

#include "security/tls/context.h"
#include "security/tls/files.h"

namespace gcoord::security {

struct Verification {
  bool has_authority = false;  // Else a client trusts those of the system, which may change.
  bool demands = false;        // A server's: who shows no certificate is refused.
};

// Installs the rules of a side into a context, in which its authorities and lists are already.
void set_verification(TlsContext::Inner& inner, TlsSide side, const Verification& rules);

}  // namespace gcoord::security
