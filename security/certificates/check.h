// Validation of a certificate: its chain, its dates, the CRL, its use and its name.
//
// The path is built and checked by OpenSSL (RFC 5280, section 6); each reason to refuse has a
// number of its own. The time is a parameter. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "security/certificates/holder.h"
#include "security/certificates/private_key.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::certificates {

struct CheckWishes {
  std::string certificate_pem;    // The certificate first, then those between it and the CA.
  std::string authority_pem;      // Certificates that are trusted.
  std::string revocations_pem{};  // Empty: no CRL is looked at.
  std::int64_t now_s = 0;
  std::string host{};               // A DNS name or an address that it must have; empty: any.
  std::optional<Holder> holder{};   // Whom it must name.
  const PrivateKey* key = nullptr;  // That must be its own.
};

// Ok, or the first reason against it: kCertificateMalformed, kAuthorityUnfit, kRevocationsUnfit,
// kCertificateUntrusted, kCertificateExpired, kCertificateEarly, kCertificateRevoked,
// kCertificatePurpose, kCertificateName, kCertificateKey.
Status check_certificate(const CheckWishes& wishes);

}  // namespace gcoord::certificates
