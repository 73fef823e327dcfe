#include "security/certificates/certificate.h"

#include "security/certificates/parsed.h"

namespace gcoord::certificates {

Result<std::vector<CertificateFacts>> read_certificates(std::string_view pem) {
  GCOORD_TRY(const auto parsed, parse_certificates(pem));
  std::vector<CertificateFacts> all;
  for (const OwnedCertificate& each : parsed) {
    all.push_back(facts_of(each.get()));
  }
  return all;
}

Result<RevocationFacts> read_revocations(std::string_view pem) {
  GCOORD_TRY(const auto parsed, parse_revocations(pem));
  return facts_of(parsed.get());
}

bool holds_certificate(std::string_view pem) {
  return pem.find("-----BEGIN CERTIFICATE-----") != pem.npos ||
         pem.find("-----BEGIN TRUSTED CERTIFICATE-----") != pem.npos;
}

bool holds_revocations(std::string_view pem) {
  return pem.find("-----BEGIN X509 CRL-----") != pem.npos;
}

}  // namespace gcoord::certificates
