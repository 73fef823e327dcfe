// Everything that the sessions of one side share: certificate, key, trusted authorities, revocation
// lists, tickets. Made of files once and never changed; a session keeps the one it began with.
//
// TLS 1.3 alone (RFC 8446), with AES-GCM and ChaCha20-Poly1305, X25519 and the NIST curves; no
// compression, no early data. A chain must end at a trusted authority; with revocation lists the
// list of the authority that issued a certificate must be there and current, else the certificate
// is refused. Names of a server are judged by its subject alternative names, never by its common
// name (RFC 9525). Any thread.
#pragma once

#include "common/status.h"
#include "security/tls/files.h"

#include <cstdint>
#include <memory>

namespace gcoord::security {

class TlsContext {
 public:
  struct Inner;  // OpenSSL's part, for this room.

  // A server needs certificate and key; a client may have them. Errors: GC1230 to GC1234.
  static Result<std::shared_ptr<const TlsContext>> load(TlsSide side,
                                                        const TlsFiles& files,
                                                        const TlsPolicy& policy);
  ~TlsContext();

  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  TlsSide side() const { return side_; }

  // The end of validity of the own certificate, in seconds since 1970; 0 without one.
  std::int64_t not_after_s() const { return not_after_s_; }

  Inner& inner() const { return *inner_; }

 private:
  explicit TlsContext(TlsSide side);

  TlsSide side_;
  std::int64_t not_after_s_ = 0;
  std::unique_ptr<Inner> inner_;
};

}  // namespace gcoord::security
