// Links of a verified chain of certificates, as revocation lists name certificates: by issuer and
// serial number.
//
// A session keeps them for as long as it lives, so that a list that comes later says whether it may
// go on (revocation_check.h). They travel in tickets, because a session that goes by a ticket shows
// no chain. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct stack_st_X509;  // OpenSSL's STACK_OF(X509).
struct x509_st;

namespace gcoord::security {

// In DER, as the certificate has them.
struct ChainLink {
  std::string issuer;
  std::string serial;

  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

// The certificate itself first.
using ChainLinks = std::vector<ChainLink>;

// Of one certificate.
ChainLink link_of(const x509_st& certificate);

// Of a chain; nullptr for none.
std::shared_ptr<const ChainLinks> links_of(const stack_st_X509* chain);

// For a ticket. Empty: there are none, or they are longer than kChainLinksBytesMax.
std::string encode_links(const ChainLinks& links);

// nullptr for what encode_links() did not write.
std::shared_ptr<const ChainLinks> decode_links(std::span<const unsigned char> bytes);

// Of usual names a dozen links. A longer chain gets no ticket.
inline constexpr std::size_t kChainLinksBytesMax = 2048;

}  // namespace gcoord::security
