// The stable numbers of failures with certificates, printed as GC1201 and documented for scripts.
// Never renumber. A Status of this folder carries exactly one of them in `detail`.
#pragma once

#include <cstdint>

namespace gcoord::certificates {

inline constexpr std::uint32_t kCertificateUnreadable = 1201;  // A file that cannot be read.
inline constexpr std::uint32_t kCertificateMalformed = 1202;   // No certificate in PEM.
inline constexpr std::uint32_t kKeyUnreadable = 1203;          // A key file: absent, or too open.
inline constexpr std::uint32_t kKeyMalformed = 1204;           // No key that is used here.
inline constexpr std::uint32_t kCertificateInTheWay = 1205;    // Something has that name already.
inline constexpr std::uint32_t kCertificateUnwritten = 1206;   // A file cannot be written.
inline constexpr std::uint32_t kAuthorityUnfit = 1207;         // Not the certificate of a CA.
inline constexpr std::uint32_t kHolderInvalid = 1208;          // No cluster, node or user.
inline constexpr std::uint32_t kHostInvalid = 1209;            // No DNS name and no address.
inline constexpr std::uint32_t kHostsMissing = 1210;           // A node that nobody can name.
inline constexpr std::uint32_t kValidityInvalid = 1211;        // Too long, or beyond its CA's.
inline constexpr std::uint32_t kCertificateForeign = 1212;     // Made by another CA.
inline constexpr std::uint32_t kCertificateRevoked = 1213;     // In the CRL.
inline constexpr std::uint32_t kCertificateExpired = 1214;     // It, or its CA.
inline constexpr std::uint32_t kCertificateEarly = 1215;       // Not valid yet.
inline constexpr std::uint32_t kCertificateUntrusted = 1216;   // No chain to the CA.
inline constexpr std::uint32_t kCertificateName = 1217;        // Names somebody else.
inline constexpr std::uint32_t kCertificateKey = 1218;         // The key is another one's.
inline constexpr std::uint32_t kCertificatePurpose = 1219;     // Not for this use.
inline constexpr std::uint32_t kRevocationsUnfit = 1220;       // No CRL, or not of this CA, or old.
inline constexpr std::uint32_t kClusterDiffers = 1221;         // The CA is another cluster's.
inline constexpr std::uint32_t kCryptographyFailed = 1222;     // The library failed.

}  // namespace gcoord::certificates
