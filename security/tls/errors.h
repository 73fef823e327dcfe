// Error numbers of TLS, as Status::detail: protocol/error_codes.h has the whole table.
//
// 31xx: a handshake or a record. 123x: files that cannot be loaded. Never renumber.
#pragma once

#include <cstdint>

namespace gcoord::security {

// The other side broke the protocol of the handshake, or ended it without naming a certificate.
inline constexpr std::uint32_t kTlsHandshake = 3101;
// It offers no TLS 1.3.
inline constexpr std::uint32_t kTlsVersion = 3102;
// Its certificate comes from no authority that this side trusts, or is not for this use.
inline constexpr std::uint32_t kTlsUntrusted = 3103;
// Its certificate has expired or is not valid yet.
inline constexpr std::uint32_t kTlsExpired = 3104;
// Its certificate is revoked.
inline constexpr std::uint32_t kTlsRevoked = 3105;
// Its certificate is for another name or address.
inline constexpr std::uint32_t kTlsName = 3106;
// It showed no certificate and had to.
inline constexpr std::uint32_t kTlsNoCertificate = 3107;
// It refuses the certificate of this side for another reason than those below, or misses one.
inline constexpr std::uint32_t kTlsRefused = 3108;
// What it sends is not TLS.
inline constexpr std::uint32_t kTlsNotSpoken = 3109;
// A record after the handshake is damaged, replayed or forged.
inline constexpr std::uint32_t kTlsRecord = 3110;
// More was kept for the session than it may keep.
inline constexpr std::uint32_t kTlsTooMuch = 3111;
// The session has ended.
inline constexpr std::uint32_t kTlsEnded = 3112;
// The port speaks TLS only, and something else came.
inline constexpr std::uint32_t kTlsPlaintext = 3113;

// It cannot be checked: the revocation list of its authority has expired.
inline constexpr std::uint32_t kTlsListExpired = 3138;
// The other side cannot check the certificate of this one: its revocation list has expired.
inline constexpr std::uint32_t kTlsUnjudged = 3139;
// The other side refuses the certificate of this one: it has expired,
inline constexpr std::uint32_t kTlsOwnExpired = 6735;
// is revoked,
inline constexpr std::uint32_t kTlsOwnRevoked = 6736;
// or comes from no authority that it trusts.
inline constexpr std::uint32_t kTlsOwnUntrusted = 6737;

// A file cannot be read.
inline constexpr std::uint32_t kTlsFileUnreadable = 1230;
// A file has no PEM of the kind that it should have, or a damaged one.
inline constexpr std::uint32_t kTlsFileInvalid = 1231;
// Key and certificate do not belong together.
inline constexpr std::uint32_t kTlsKeyMismatch = 1232;
// Others than the owner may read or write the key.
inline constexpr std::uint32_t kTlsKeyPermissions = 1233;
// Files that need each other: a certificate without a key, revocations without an authority.
inline constexpr std::uint32_t kTlsFilesIncomplete = 1234;

}  // namespace gcoord::security
