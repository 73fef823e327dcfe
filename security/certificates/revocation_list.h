// A CRL that is being made: the entries of the one before, and new ones. For sources of this room.
#pragma once

#include "common/status.h"
#include "security/certificates/openssl_owned.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::certificates {

using OwnedRevoked = OpensslOwned<X509_REVOKED, &X509_REVOKED_free>;

struct RevocationList {
  X509* issuer = nullptr;
  EVP_PKEY* key = nullptr;
  std::vector<OwnedRevoked> entries{};
  std::uint64_t number = 0;  // Of the list before.

  // Everything of an earlier list, which this key must have signed. kRevocationsUnfit.
  Status take(std::string_view pem);

  // Hex digits each; those that are there already are left out. kCertificateMalformed.
  Status add(const std::vector<std::string>& serials, std::int64_t now_s);

  // With the next number.
  Result<std::string> signed_pem(std::int64_t now_s, std::int64_t next_update_s) const;
};

}  // namespace gcoord::certificates
