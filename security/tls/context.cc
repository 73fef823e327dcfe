#include "security/tls/context.h"

#include "security/tls/chain_links.h"
#include "security/tls/context_inner.h"
#include "security/tls/errors.h"
#include "security/tls/failure.h"
#include "security/tls/library_context.h"
#include "security/tls/peer.h"
#include "security/tls/pem_files.h"
#include "security/tls/verification.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::security {
namespace {

// AES-128 first: it has no known weakness that AES-256 lacks here, and costs a quarter less. A
// client without AES in hardware names ChaCha20 first and gets it.
constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";

// RSA below 2048 bits, SHA-1 and the like are refused (OpenSSL's own scale).
constexpr int kSecurityLevel = 2;

// Tickets of one context resume sessions of this name alone.
constexpr unsigned char kSessionsOf[] = "gcoord";

TlsContext::Inner* inner_of(const SSL* session);

SessionTies& ties_of(const SSL* session) {
  return *static_cast<SessionTies*>(SSL_get_app_data(session));
}

void keep_links(SSL_SESSION& ticket, const std::shared_ptr<const ChainLinks>& links) {
  const std::string bytes = links == nullptr ? std::string{} : encode_links(*links);
  SSL_SESSION_set1_ticket_appdata(&ticket, bytes.data(), bytes.size());
}

Status incomplete(const std::string& why) {
  return Status{StatusCode::InvalidArgument, why, kTlsFilesIncomplete};
}

Status check_complete(TlsSide side, const TlsFiles& files, const TlsPolicy& policy) {
  if (files.certificate.empty() != files.key.empty()) {
    return incomplete("a certificate and its key belong together: one of them is missing");
  }
  if (side == TlsSide::Server && files.certificate.empty()) {
    return incomplete("a server needs a certificate and its key");
  }
  if (!files.revoked.empty() && files.authority.empty()) {
    return incomplete("revocation lists need the authority that issues them");
  }
  if (side == TlsSide::Server && policy.demand_certificate && files.authority.empty()) {
    return incomplete("certificates of clients can be verified by an authority alone");
  }
  return Status{};
}

Status use_certificate(SSL_CTX* context, const TlsFiles& files, TlsFacts& facts) {
  if (files.certificate.empty()) {
    return Status{};
  }
  GCOORD_TRY(auto chain, read_certificates(files.certificate));
  GCOORD_TRY(const OwnedKey key, read_key(files.key));
  ERR_clear_error();
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return Status{StatusCode::FailedPrecondition,
                  files.certificate + ": " + openssl_reason(),
                  kTlsFileInvalid};
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return Status{StatusCode::FailedPrecondition,
                  files.key + " is not the key of " + files.certificate,
                  kTlsKeyMismatch};
  }
  for (std::size_t k = 1; k < chain.size(); ++k) {
    if (SSL_CTX_add1_chain_cert(context, chain[k].get()) != 1) {
      return Status{StatusCode::FailedPrecondition,
                    files.certificate + ": " + openssl_reason(),
                    kTlsFileInvalid};
    }
  }
  facts.own = peer_of(*chain.front());
  facts.own_begin_s = seconds_of(X509_get0_notBefore(chain.front().get()));
  return Status{};
}

void note_dates(const X509_CRL& list, TlsFacts& facts) {
  facts.list_begin_s = std::max(facts.list_begin_s, seconds_of(X509_CRL_get0_lastUpdate(&list)));
  const std::int64_t end_s = seconds_of(X509_CRL_get0_nextUpdate(&list));
  if (end_s != 0 && (facts.list_end_s == 0 || end_s < facts.list_end_s)) {
    facts.list_end_s = end_s;
  }
}

// 0: one has none.
std::int64_t last_end(const std::vector<OwnedRevocations>& lists) {
  std::int64_t last = 0;
  for (const OwnedRevocations& list : lists) {
    const std::int64_t end_s = seconds_of(X509_CRL_get0_nextUpdate(list.get()));
    if (end_s == 0) {
      return 0;
    }
    last = std::max(last, end_s);
  }
  return last;
}

Status use_authority(TlsContext::Inner& inner, TlsSide side, const TlsFiles& files) {
  SSL_CTX* const context = inner.context.get();
  if (files.authority.empty()) {
    if (side == TlsSide::Client && SSL_CTX_set_default_verify_paths(context) != 1) {
      ERR_clear_error();
      return Status{StatusCode::FailedPrecondition,
                    "the authorities of the system cannot be loaded",
                    kTlsFileUnreadable};
    }
    return Status{};
  }
  GCOORD_TRY(const auto authorities, read_certificates(files.authority));
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const OwnedCertificate& authority : authorities) {
    X509_STORE_add_cert(store, authority.get());
    if (side == TlsSide::Server) {
      SSL_CTX_add_client_CA(context, authority.get());
    }
  }
  if (!files.revoked.empty()) {
    GCOORD_TRY(inner.lists, read_revocations(files.revoked));
    for (const OwnedRevocations& list : inner.lists) {
      X509_STORE_add_crl(store, list.get());
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  }
  ERR_clear_error();
  return Status{};
}

// 1: done; 2: done, and the client should get a new ticket; 0: no such key; -1: the handshake ends.
int on_ticket_key(SSL* session,
                  unsigned char* name,
                  unsigned char* iv,
                  EVP_CIPHER_CTX* cipher,
                  EVP_MAC_CTX* mac,
                  int encrypts) {
  TicketKeys& keys = inner_of(session)->ticket_keys;
  TicketKeys::Key key;
  int verdict = 1;
  if (encrypts != 0) {
    if (!keys.newest(key) || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) {
      return -1;
    }
    std::memcpy(name, key.name.data(), key.name.size());
  } else {
    const TicketKeys::Found found = keys.find(name, key);
    if (!found.known) {
      return 0;
    }
    verdict = found.renew ? 2 : 1;
  }
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const bool ready =
      EVP_CipherInit_ex(
          cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv, encrypts != 0 ? 1 : 0) == 1 &&
      EVP_MAC_CTX_set_params(mac, parameters) == 1;
  TicketKeys::wipe(key);
  return ready ? verdict : -1;
}

// A ticket holds the client's certificate, but not the chain that was found for it.
int on_ticket_made(SSL* session, void* /*argument*/) {
  keep_links(*SSL_get_session(session), ties_of(session).links);
  return 1;
}

// The client's certificate may have expired since. One whose chain did not find room in the ticket
// is verified again.
SSL_TICKET_RETURN on_ticket_read(SSL* session,
                                 SSL_SESSION* resumed,
                                 const unsigned char* /*name*/,
                                 std::size_t /*name_bytes*/,
                                 SSL_TICKET_STATUS status,
                                 void* /*argument*/) {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  const X509* certificate = SSL_SESSION_get0_peer(resumed);
  if (certificate != nullptr && (not_after_s_of(*certificate) <= inner_of(session)->now_s() ||
                                 kept_links(*resumed) == nullptr)) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

// A client's: takes the reference that comes with it.
int on_ticket_received(SSL* session, SSL_SESSION* ticket) {
  const SessionTies& ties = ties_of(session);
  keep_links(*ticket, ties.links);
  inner_of(session)->client_tickets.put(ties.endpoint, OwnedSslSession{ticket});
  return 1;
}

bool set_rules(SSL_CTX* context) {
  SSL_CTX_set_options(context,
                      SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT |
                          SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // An idle connection then needs no buffers of records.
  // The chain is in the file of the certificate. Else OpenSSL would look for one in every
  // handshake, verify it, and send the authority's own certificate, which the other side must have
  // anyway.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_max_early_data(context, 0);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_ciphersuites(context, kCiphers) == 1 &&
         SSL_CTX_set1_groups_list(context, kGroups) == 1;
}

bool set_server(SSL_CTX* context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, 2 * TicketKeys::kPeriod.count());
  SSL_CTX_set_num_tickets(context, 0);  // A session issues one once it is worth it (session.cc).
  return SSL_CTX_set_session_id_context(context, kSessionsOf, sizeof kSessionsOf - 1) == 1 &&
         SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket_key) == 1 &&
         SSL_CTX_set_session_ticket_cb(context, on_ticket_made, on_ticket_read, nullptr) == 1;
}

void set_client(SSL_CTX* context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(context, on_ticket_received);
}

TlsContext::Inner* inner_of(const SSL* session) {
  return static_cast<TlsContext::Inner*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(session)));
}

}  // namespace

std::shared_ptr<const ChainLinks> kept_links(SSL_SESSION& ticket) {
  void* bytes = nullptr;
  std::size_t count = 0;
  if (SSL_SESSION_get0_ticket_appdata(&ticket, &bytes, &count) != 1 || bytes == nullptr) {
    return nullptr;
  }
  return decode_links({static_cast<const unsigned char*>(bytes), count});
}

TlsContext::TlsContext(TlsSide side) : side_(side), inner_(std::make_unique<Inner>()) {}

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::load(TlsSide side,
                                                           const TlsFiles& files,
                                                           const TlsPolicy& policy) {
  GCOORD_TRY_STATUS(check_complete(side, files, policy));
  std::shared_ptr<TlsContext> made(new TlsContext(side));
  const bool server = side == TlsSide::Server;
  ERR_clear_error();
  made->inner_->context.reset(SSL_CTX_new_ex(
      library_context(), nullptr, server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const context = made->inner_->context.get();
  if (context == nullptr || !set_rules(context) || (server && !set_server(context))) {
    return Status{StatusCode::Internal, "OpenSSL: " + openssl_reason(), kTlsHandshake};
  }
  SSL_CTX_set_app_data(context, made->inner_.get());
  if (!server) {
    set_client(context);
  }
  GCOORD_TRY_STATUS(use_certificate(context, files, made->facts_));
  GCOORD_TRY_STATUS(use_authority(*made->inner_, side, files));
  for (const OwnedRevocations& list : made->inner_->lists) {
    note_dates(*list, made->facts_);
  }
  made->facts_.list_last_end_s = last_end(made->inner_->lists);
  set_verification(
      *made->inner_,
      side,
      {.has_authority = !files.authority.empty(), .demands = policy.demand_certificate});
  return std::shared_ptr<const TlsContext>(std::move(made));
}

}  // namespace gcoord::security
