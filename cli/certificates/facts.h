// Certificates and revocation lists as gcoordctl prints them, and its failures with them. Pure;
// thread-safe.
#pragma once

#include "cli/terminal/output.h"
#include "common/json/value.h"
#include "common/status.h"
#include "security/certificates/certificate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

// Seconds since 1970 of this machine's clock.
std::int64_t now_s();

// "2027-11-29T10:00:00Z".
std::string moment_text(std::int64_t unix_s);

Json json_of(const certificates::CertificateFacts& facts);
Json json_of(const certificates::RevocationFacts& facts);

// The names of a certificate in one line; its subject where it has none.
std::string names_text(const certificates::CertificateFacts& facts);

// A failure of security/certificates with the cause and the fix of its number.
Status certificate_failure(const Status& status);

}  // namespace gcoord::cli
