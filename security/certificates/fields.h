// Filling in a certificate that is about to be signed. For the sources of this room.
#pragma once

#include "common/status.h"
#include "security/certificates/openssl_owned.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::certificates {

struct Validity {
  std::int64_t from_s = 0;
  std::int64_t until_s = 0;
};

// Version 3, a random serial of 127 bits, the dates and the key.
Result<OwnedCertificate> begin_certificate(const Validity& validity, EVP_PKEY* key);

// As the subject's only name.
bool set_common_name(X509* certificate, const std::string& name);

// Adds extensions in OpenSSL's words ("critical,CA:FALSE"), which come from this program alone.
struct Extensions {
  X509* certificate;
  X509* issuer;

  bool add(int nid, const char* value) const;
};

// The subject's alternative names: one URI, DNS names and addresses. kHostInvalid names the host
// that is neither.
Status add_names(X509* certificate, const std::string& uri, const std::vector<std::string>& hosts);

// With the digest that the key wants.
bool sign(X509* certificate, EVP_PKEY* key);
bool sign(X509_CRL* revocations, EVP_PKEY* key);

}  // namespace gcoord::certificates
