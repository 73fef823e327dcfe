// Verification of the certificates that the other side shows. For sources of this room only.
#pragma once

#include "security/tls/context.h"
#include "security/tls/files.h"

namespace gcoord::security {

// Added to reasons of OpenSSL (X509_V_ERR_...) that lie in a revocation list. OpenSSL does not know
// the sum, and sends the alert certificate_unknown for it. By its own table a client would hear of
// an old list that its certificate has expired, or comes from an unknown authority.
inline constexpr int kListReasons = 1 << 16;

struct Verification {
  bool has_authority = false;  // Else a client trusts those of the system, which may change.
  bool demands = false;        // A server's: who shows no certificate is refused.
};

// Installs the rules of a side into a context, in which its authorities and lists are already.
void set_verification(TlsContext::Inner& inner, TlsSide side, const Verification& rules);

}  // namespace gcoord::security
