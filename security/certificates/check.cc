#include "security/certificates/check.h"

#include "security/certificates/host_name.h"
#include "security/certificates/parsed.h"

#include <algorithm>
#include <ctime>

namespace gcoord::certificates {
namespace {

using OwnedStore = OpensslOwned<X509_STORE, &X509_STORE_free>;
using OwnedStoreContext = OpensslOwned<X509_STORE_CTX, &X509_STORE_CTX_free>;

void free_stack(STACK_OF(X509) * stack) {
  sk_X509_free(stack);
}

Status refused(std::uint32_t detail, const std::string& why) {
  return {StatusCode::FailedPrecondition, why, detail};
}

Result<OwnedStore> store_of(const CheckWishes& wishes) {
  OwnedStore store{X509_STORE_new()};
  if (store == nullptr) {
    return openssl_failed("making a store of certificates");
  }
  const auto authorities = parse_certificates(wishes.authority_pem);
  if (!authorities.ok()) {
    return refused(kAuthorityUnfit, "the CA's file: " + authorities.status().message());
  }
  for (const OwnedCertificate& each : authorities.value()) {
    if (X509_check_ca(each.get()) == 0) {
      return refused(kAuthorityUnfit,
                     facts_of(each.get()).subject + " may not sign certificates, and is no CA");
    }
    X509_STORE_add_cert(store.get(), each.get());
  }
  if (!wishes.revocations_pem.empty()) {
    GCOORD_TRY(const OwnedRevocations list, parse_revocations(wishes.revocations_pem));
    X509_STORE_add_crl(store.get(), list.get());
    X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK);
  }
  return store;
}

std::uint32_t number_of(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return kCertificateExpired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return kCertificateEarly;
    case X509_V_ERR_CERT_REVOKED:
      return kCertificateRevoked;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
      return kRevocationsUnfit;
    case X509_V_ERR_INVALID_PURPOSE:
      return kCertificatePurpose;
    default:
      return kCertificateUntrusted;
  }
}

// A node's is that of a server.
int purpose_of(const CheckWishes& wishes) {
  if (wishes.holder.has_value() && wishes.holder->kind == HolderKind::User) {
    return X509_PURPOSE_SSL_CLIENT;
  }
  return wishes.holder.has_value() || !wishes.host.empty() ? X509_PURPOSE_SSL_SERVER
                                                           : X509_PURPOSE_ANY;
}

Status check_chain(const std::vector<OwnedCertificate>& chain, const CheckWishes& wishes) {
  GCOORD_TRY(const OwnedStore store, store_of(wishes));
  // Borrows the certificates.
  const OpensslOwned<STACK_OF(X509), &free_stack> between{sk_X509_new_null()};
  for (std::size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(between.get(), chain[i].get());
  }
  const OwnedStoreContext context{X509_STORE_CTX_new()};
  if (context == nullptr ||
      X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get()) != 1) {
    return openssl_failed("checking a certificate");
  }
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, static_cast<std::time_t>(wishes.now_s));
  X509_STORE_CTX_set_purpose(context.get(), purpose_of(wishes));
  if (X509_verify_cert(context.get()) == 1) {
    return {};
  }
  const int error = X509_STORE_CTX_get_error(context.get());
  const int depth = X509_STORE_CTX_get_error_depth(context.get());
  ERR_clear_error();
  return refused(number_of(error),
                 std::string{X509_verify_cert_error_string(error)} +
                     (depth > 0 ? ", of the CA that signed it" : ""));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? "nobody" : list;
}

Status check_names(X509* certificate, const CheckWishes& wishes) {
  const CertificateFacts facts = facts_of(certificate);
  if (!wishes.host.empty()) {
    const bool address = kind_of_host(wishes.host) == HostKind::Address;
    const int matches = address ? X509_check_ip_asc(certificate, wishes.host.c_str(), 0)
                                : X509_check_host(certificate,
                                                  wishes.host.data(),
                                                  wishes.host.size(),
                                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                                                  nullptr);
    if (matches != 1) {
      std::vector<std::string> names = facts.dns;
      names.insert(names.end(), facts.addresses.begin(), facts.addresses.end());
      return refused(kCertificateName, "it is for " + list_of(names) + ", not for " + wishes.host);
    }
  }
  const auto is_holder = [&](const std::string& uri) { return parse_holder(uri) == wishes.holder; };
  if (wishes.holder.has_value() && std::ranges::none_of(facts.uris, is_holder)) {
    return refused(kCertificateName,
                   "it names " + list_of(facts.uris) + ", not " + uri_of(*wishes.holder));
  }
  return {};
}

}  // namespace

Status check_certificate(const CheckWishes& wishes) {
  GCOORD_TRY(const auto chain, parse_certificates(wishes.certificate_pem));
  GCOORD_TRY_STATUS(check_chain(chain, wishes));
  GCOORD_TRY_STATUS(check_names(chain.front().get(), wishes));
  if (wishes.key != nullptr &&
      X509_check_private_key(chain.front().get(), wishes.key->openssl()) != 1) {
    ERR_clear_error();
    return refused(kCertificateKey, "the key is not the one of this certificate");
  }
  return {};
}

}  // namespace gcoord::certificates
