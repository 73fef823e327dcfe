// Check of sessions that live against the revocation lists of a context that came after them.
//
// A session was verified when it began. Once the lists are others, whoever has the session looks
// here whether its certificate, or one of an authority in its chain, is revoked by now. A lookup
// costs about a microsecond per link. One thread; the context may be in use by others.
#pragma once

#include "security/tls/context.h"
#include "security/tls/peer.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct X509_crl_st;

namespace gcoord::security {

class RevocationCheck {
 public:
  // nullptr, or a context without lists: nobody is revoked.
  explicit RevocationCheck(std::shared_ptr<const TlsContext> context);

  bool revokes(const TlsPeer& peer);

 private:
  const std::vector<X509_crl_st*>& lists_of(const std::string& issuer);
  bool revokes(const ChainLink& link);

  std::shared_ptr<const TlsContext> context_;
  std::unordered_map<std::string, std::vector<X509_crl_st*>> lists_;  // By the issuer, in DER.
};

}  // namespace gcoord::security
