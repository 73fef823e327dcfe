// The other end of a TLS session, by its certificate.
//
// A certificate of a trusted authority says who somebody is and gives no right by itself.
#pragma once

#include "security/tls/chain_links.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct asn1_string_st;  // OpenSSL's ASN1_TIME.
struct x509_st;

namespace gcoord::security {

// Names that are kept of each kind, and bytes of a name: what has more is left out, as is a name
// with control characters.
inline constexpr std::size_t kPeerNamesMax = 64;
inline constexpr std::size_t kPeerNameBytesMax = 255;

// Of a verified chain. Names as the certificate has them, in its order.
struct TlsPeer {
  std::vector<std::string> uris;       // Subject alternative names: URIs,
  std::vector<std::string> dns;        // names of hosts,
  std::vector<std::string> addresses;  // and addresses, as "192.0.2.1" or "2001:db8::1".
  std::string common_name;
  std::string serial;            // Hexadecimal, without a sign.
  std::string fingerprint;       // SHA-256 of the certificate, 64 hexadecimal digits.
  std::int64_t not_after_s = 0;  // Since 1970, UTC.
  // What revocation lists are searched for; nullptr where no chain was verified.
  std::shared_ptr<const ChainLinks> links;

  // The same certificate.
  friend bool operator==(const TlsPeer& a, const TlsPeer& b) {
    return a.fingerprint == b.fingerprint;
  }
};

// Reads a certificate; it says nothing about whether anybody should believe it. Thread-safe.
TlsPeer peer_of(const x509_st& certificate);

// OpenSSL's ASN1_TIME in seconds since 1970, UTC; 0 if it is unreadable or absent.
std::int64_t seconds_of(const asn1_string_st* time);

// The end of a certificate's validity, likewise.
std::int64_t not_after_s_of(const x509_st& certificate);

}  // namespace gcoord::security
