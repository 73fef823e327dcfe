// A certificate as people look at it: whom it names, until when, with which key, from whom.
//
// Bytes from outside: a text of any kind is answered with facts or with a failure, never more than
// that. Nothing here is checked against a CA (check.h does). Thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::certificates {

struct CertificateFacts {
  std::string subject;  // "CN = node-1", control characters escaped.
  std::string issuer;
  std::string serial;       // Hex digits, as `openssl x509 -serial` has them.
  std::string fingerprint;  // SHA-256 of the DER, hex digits in lower case.
  std::string key;          // "ed25519", "p256", "rsa 2048": algorithm and, where it varies, size.
  std::int64_t not_before_s = 0;  // Unix seconds, both included.
  std::int64_t not_after_s = 0;
  bool authority = false;         // May sign certificates.
  std::vector<std::string> uris;  // Of the subject's alternative names.
  std::vector<std::string> dns;
  std::vector<std::string> addresses;
};

struct RevocationFacts {
  std::string issuer;
  std::string number;  // The CRL's own, decimal; empty: it has none.
  std::int64_t updated_s = 0;
  std::int64_t next_update_s = 0;  // 0: it names none.
  std::vector<std::string> serials;
};

// Every certificate of a PEM text, in its order. kCertificateMalformed where there is none, or one
// that cannot be read. What stands around them is passed over.
Result<std::vector<CertificateFacts>> read_certificates(std::string_view pem);

// The CRL of a PEM text; kRevocationsUnfit where there is none.
Result<RevocationFacts> read_revocations(std::string_view pem);

bool holds_certificate(std::string_view pem);
bool holds_revocations(std::string_view pem);

}  // namespace gcoord::certificates
