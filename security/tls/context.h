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
#include "security/tls/peer.h"

#include <cstdint>
#include <memory>

namespace gcoord::security {

// Dates and names of what a context was made of, for whoever judges it. Times in seconds since
// 1970.
struct TlsFacts {
  TlsPeer own;                       // By the own certificate; without one it has no fingerprint.
  std::int64_t own_begin_s = 0;      // Of its validity; the end is own.not_after_s.
  std::int64_t list_begin_s = 0;     // Of the newest revocation list; 0: there is none.
  std::int64_t list_end_s = 0;       // The first end of a list; 0: none has an end.
  std::int64_t list_last_end_s = 0;  // The last one; 0: a list has no end, or there is none.

  bool has_certificate() const { return !own.fingerprint.empty(); }
};

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
  std::int64_t not_after_s() const { return facts_.own.not_after_s; }

  const TlsFacts& facts() const { return facts_; }

  Inner& inner() const { return *inner_; }

 private:
  explicit TlsContext(TlsSide side);

  TlsSide side_;
  TlsFacts facts_;
  std::unique_ptr<Inner> inner_;
};

}  // namespace gcoord::security
