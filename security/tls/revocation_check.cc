#include "security/tls/revocation_check.h"

#include "security/tls/context_inner.h"
#include "security/tls/openssl_owned.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <utility>

namespace gcoord::security {
namespace {

using OwnedName = std::unique_ptr<X509_NAME, OpensslFree<X509_NAME_free>>;
using OwnedNumber = std::unique_ptr<ASN1_INTEGER, OpensslFree<ASN1_INTEGER_free>>;

const unsigned char* begin_of(const std::string& der) {
  return reinterpret_cast<const unsigned char*>(der.data());
}

}  // namespace

RevocationCheck::RevocationCheck(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)) {}

// Names are compared as OpenSSL does while it verifies: their encodings may differ.
const std::vector<X509_crl_st*>& RevocationCheck::lists_of(const std::string& issuer) {
  const auto [found, is_new] = lists_.try_emplace(issuer);
  if (!is_new) {
    return found->second;
  }
  const unsigned char* der = begin_of(issuer);
  const OwnedName name{d2i_X509_NAME(nullptr, &der, static_cast<long>(issuer.size()))};
  for (const OwnedRevocations& list : context_->inner().lists) {
    if (name != nullptr && X509_NAME_cmp(X509_CRL_get_issuer(list.get()), name.get()) == 0) {
      found->second.push_back(list.get());
    }
  }
  ERR_clear_error();
  return found->second;
}

bool RevocationCheck::revokes(const ChainLink& link) {
  const std::vector<X509_crl_st*>& lists = lists_of(link.issuer);
  if (lists.empty()) {
    return false;
  }
  const unsigned char* der = begin_of(link.serial);
  const OwnedNumber serial{d2i_ASN1_INTEGER(nullptr, &der, static_cast<long>(link.serial.size()))};
  ERR_clear_error();
  // 2 is an entry that takes a revocation back.
  return serial != nullptr && std::ranges::any_of(lists, [&](X509_CRL* list) {
           X509_REVOKED* entry = nullptr;
           return X509_CRL_get0_by_serial(list, &entry, serial.get()) == 1;
         });
}

bool RevocationCheck::revokes(const TlsPeer& peer) {
  return context_ != nullptr && peer.links != nullptr && !context_->inner().lists.empty() &&
         std::ranges::any_of(*peer.links, [this](const ChainLink& link) { return revokes(link); });
}

}  // namespace gcoord::security
