// OpenSSL's library context for TLS, with fewer kinds of keys than the process has.
//
// OpenSSL 3.0 decodes the public key of each certificate that it reads by asking every decoder and
// every kind of key of its providers in turn, which costs more than the verification of a
// signature: 130 us. The context here has the default provider's algorithms, all of them but the
// decoders and kinds of keys that no certificate of TLS 1.3 can have: 40 us. The code that runs is
// the default provider's, so what is accepted is decided as before (docs/adr/0133).
//
// Where the process has other providers than the default one, or demands FIPS, the operator has
// chosen what does cryptography, and TLS uses that. Any thread.
#pragma once

#include <openssl/types.h>

namespace gcoord::security {

// One for the process, never freed; nullptr: the process's own context.
OSSL_LIB_CTX* library_context();

}  // namespace gcoord::security
