// PEM texts as OpenSSL's objects, for the sources of this room.
#pragma once

#include "common/status.h"
#include "security/certificates/certificate.h"
#include "security/certificates/openssl_owned.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::certificates {

// At least one; kCertificateMalformed otherwise.
Result<std::vector<OwnedCertificate>> parse_certificates(std::string_view pem);

// kRevocationsUnfit.
Result<OwnedRevocations> parse_revocations(std::string_view pem);

CertificateFacts facts_of(X509* certificate);
RevocationFacts facts_of(X509_CRL* revocations);

// Hex digits, two for a byte.
std::string serial_of(const ASN1_INTEGER* serial);

Result<std::string> pem_of(X509* certificate);
Result<std::string> pem_of(X509_CRL* revocations);

std::int64_t unix_seconds(const ASN1_TIME* time);

}  // namespace gcoord::certificates
