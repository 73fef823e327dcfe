#include "security/tls/verification.h"

#include "security/tls/context_inner.h"
#include "security/tls/peer.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>

namespace gcoord::security {
namespace {

using OwnedText = std::unique_ptr<char, decltype([](char* text) { OPENSSL_free(text); })>;

// An authority between, of whose issuer there is no list, is not refused: many have lists of those
// that issue to nodes and users, and none of the root. The certificate itself has to be in a list's
// scope.
int on_verified(int ok, X509_STORE_CTX* chain) {
  if (ok == 0 && X509_STORE_CTX_get_error(chain) == X509_V_ERR_UNABLE_TO_GET_CRL &&
      X509_STORE_CTX_get_error_depth(chain) > 0) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
  return ok;
}

bool add_digest(const X509* certificate, std::string& key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  if (certificate == nullptr ||
      X509_digest(certificate, EVP_sha256(), digest.data(), &digest_bytes) != 1) {
    return false;
  }
  key.append(reinterpret_cast<const char*>(digest.data()), digest_bytes);
  return true;
}

// The name that a client expects of the server; its digest would cost more than it saves.
std::string expected_name(const X509_STORE_CTX* chain) {
  X509_VERIFY_PARAM* const rules = X509_STORE_CTX_get0_param(chain);
  const char* const host = X509_VERIFY_PARAM_get0_host(rules, 0);
  ERR_set_mark();  // To have no address is an error for OpenSSL, and none of the handshake's.
  const OwnedText address{X509_VERIFY_PARAM_get1_ip_asc(rules)};
  ERR_pop_to_mark();
  return (host == nullptr ? std::string{} : host) + '\0' +
         (address == nullptr ? std::string{} : address.get()) + '\0';
}

// Digests of the certificates that were shown, in their order, and the name that the first must
// have. Empty: there is none, and the chain is verified each time.
std::string key_of(const X509_STORE_CTX* chain) {
  std::string key = expected_name(chain);
  if (!add_digest(X509_STORE_CTX_get0_cert(chain), key)) {
    return {};
  }
  const STACK_OF(X509)* const shown = X509_STORE_CTX_get0_untrusted(chain);
  const int count = shown == nullptr ? 0 : sk_X509_num(shown);
  for (int k = 0; k < count; ++k) {
    if (key.size() > VerifiedChains::kKeyBytesMax || !add_digest(sk_X509_value(shown, k), key)) {
      return {};
    }
  }
  return key;
}

// The first end of validity in the chain that was found.
std::int64_t end_of_chain_s(const X509_STORE_CTX* chain) {
  std::int64_t end_s = std::numeric_limits<std::int64_t>::max();
  const STACK_OF(X509)* const found = X509_STORE_CTX_get0_chain(chain);
  const int count = found == nullptr ? 0 : sk_X509_num(found);
  for (int k = 0; k < count; ++k) {
    end_s = std::min(end_s, not_after_s_of(*sk_X509_value(found, k)));
  }
  return count == 0 ? 0 : end_s;
}

// The first time at which one of the lists is out of date; a list without one holds for ever.
std::int64_t end_of_lists_s(const X509_STORE* store) {
  std::int64_t end_s = std::numeric_limits<std::int64_t>::max();
  const STACK_OF(X509_OBJECT)* const objects = X509_STORE_get0_objects(store);
  for (int k = 0; k < sk_X509_OBJECT_num(objects); ++k) {
    const X509_CRL* const list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, k));
    const ASN1_TIME* const end = list == nullptr ? nullptr : X509_CRL_get0_nextUpdate(list);
    end_s = end == nullptr ? end_s : std::min(end_s, seconds_of(end));
  }
  return end_s;
}

// Of the session that the chain was shown in.
SessionTies& ties_of(const X509_STORE_CTX* chain) {
  const auto* const session = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  return *static_cast<SessionTies*>(SSL_get_app_data(session));
}

// Reasons that lie in a revocation list of this side, and not in the certificate.
bool is_of_list(int error) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
      return true;
    default:
      return false;
  }
}

// In place of X509_verify_cert(), which it calls for chains that are not known. A known one was
// found good by the same call with the same authorities, lists and rules.
int verify_chain(X509_STORE_CTX* chain, void* argument) {
  TlsContext::Inner& inner = *static_cast<TlsContext::Inner*>(argument);
  SessionTies& ties = ties_of(chain);
  const std::int64_t now_s = inner.now_s();
  const std::string key = inner.keeps_chains ? key_of(chain) : std::string{};
  if (!key.empty() && inner.verified_chains.knows(key, now_s, &ties.links)) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
  X509_STORE_CTX_set_time(chain, 0, now_s);
  const int ok = X509_verify_cert(chain);
  const int error = X509_STORE_CTX_get_error(chain);
  if (ok != 1) {
    X509_STORE_CTX_set_error(chain, is_of_list(error) ? kListReasons + error : error);
    return ok;
  }
  ties.links = links_of(X509_STORE_CTX_get0_chain(chain));
  if (!key.empty() && error == X509_V_OK) {
    inner.verified_chains.keep(
        key, {now_s, std::min(end_of_chain_s(chain), inner.lists_until_s), ties.links});
  }
  return ok;
}

}  // namespace

void set_verification(TlsContext::Inner& inner, TlsSide side, const Verification& rules) {
  SSL_CTX* const context = inner.context.get();
  int mode = SSL_VERIFY_PEER;
  if (side == TlsSide::Server) {
    mode = !rules.has_authority ? SSL_VERIFY_NONE
                                : SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE |
                                      (rules.demands ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
  }
  SSL_CTX_set_verify(context, mode, on_verified);
  SSL_CTX_set_cert_verify_callback(context, verify_chain, &inner);
  inner.keeps_chains = rules.has_authority;
  inner.lists_until_s = end_of_lists_s(SSL_CTX_get_cert_store(context));
}

}  // namespace gcoord::security
