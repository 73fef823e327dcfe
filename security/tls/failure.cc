#include "security/tls/failure.h"

#include "security/tls/errors.h"
#include "security/tls/verification.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <cstdint>

namespace gcoord::security {
namespace {

// OpenSSL's reasons for received alerts are this and the alert's number (RFC 8446 6).
constexpr int kAlertReasons = SSL_AD_REASON_OFFSET;

// The certificate cannot be checked, for want of a list that holds.
Status list_failure(long reason) {
  const bool is_old =
      reason == X509_V_ERR_CRL_HAS_EXPIRED || reason == X509_V_ERR_CRL_NOT_YET_VALID;
  return Status{StatusCode::Unauthenticated,
                std::string{"the certificate of the other side cannot be checked: "} +
                    (reason == X509_V_ERR_CRL_HAS_EXPIRED ? "the revocation list has expired"
                                                          : X509_verify_cert_error_string(reason)),
                is_old ? kTlsListExpired : kTlsUntrusted};
}

Status certificate_failure(long verdict) {
  if (verdict > kListReasons) {
    return list_failure(verdict - kListReasons);
  }
  std::uint32_t detail = kTlsUntrusted;
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      detail = kTlsExpired;
      break;
    case X509_V_ERR_CERT_REVOKED:
      detail = kTlsRevoked;
      break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      detail = kTlsName;
      break;
    default:
      break;  // Of no authority that is known, or not whole.
  }
  return Status{
      StatusCode::Unauthenticated,
      std::string{"the certificate of the other side: "} + X509_verify_cert_error_string(verdict),
      detail};
}

// The other side's reasons to refuse the certificate that it saw, or that it did not see.
bool refuses_certificate(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_DECRYPT_ERROR:  // Of a signature in it, or by its key.
      return true;
    default:
      return false;
  }
}

// By the alert: only the other side knows more.
Status refusal_of(int alert, const std::string& words) {
  const auto refused = [](const std::string& why, std::uint32_t detail) {
    return Status{StatusCode::Unauthenticated,
                  "the other side refuses the certificate of this one: " + why,
                  detail};
  };
  switch (alert) {
    case SSL_AD_CERTIFICATE_EXPIRED:
      return refused("it has expired", kTlsOwnExpired);
    case SSL_AD_CERTIFICATE_REVOKED:
      return refused("it is revoked", kTlsOwnRevoked);
    case SSL_AD_UNKNOWN_CA:
      return refused("it comes from no authority that is trusted there", kTlsOwnUntrusted);
    case SSL_AD_CERTIFICATE_UNKNOWN:
      return refused(
          "the alert certificate_unknown, which names no cause. A node sends it when its "
          "revocation "
          "list has expired or is missing, other software for other causes, too",
          kTlsUnjudged);
    default:
      return refused(words, kTlsRefused);
  }
}

std::string reason_words(unsigned long error) {
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? std::string{"the protocol is broken"} : std::string{reason};
}

Status failure_of(unsigned long error, bool open) {
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  const std::string words = reason_words(error);
  if (reason > kAlertReasons && refuses_certificate(reason - kAlertReasons)) {
    return refusal_of(reason - kAlertReasons, words);
  }
  switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return Status{
          StatusCode::Unauthenticated, "the other side showed no certificate", kTlsNoCertificate};
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return Status{StatusCode::FailedPrecondition, "the other side has no TLS 1.3", kTlsVersion};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return Status{StatusCode::FailedPrecondition,
                    "the other side does not speak TLS",
                    open ? kTlsRecord : kTlsNotSpoken};
    default:
      return Status{StatusCode::Unavailable,
                    (open ? "a TLS record: " : "the TLS handshake: ") + words,
                    open ? kTlsRecord : kTlsHandshake};
  }
}

// The oldest reason that TLS itself gives: before it there may be those of a signature. Empties the
// queue.
unsigned long first_of_tls() {
  unsigned long error = ERR_get_error();
  const unsigned long oldest = error;
  while (error != 0 && ERR_GET_LIB(error) != ERR_LIB_SSL) {
    error = ERR_get_error();
  }
  ERR_clear_error();
  return error != 0 ? error : oldest;
}

}  // namespace

std::string openssl_reason() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  return reason_words(error);
}

Status tls_failure(const SSL& session, bool open) {
  const unsigned long error = first_of_tls();
  const bool unverified =
      ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  return unverified ? certificate_failure(SSL_get_verify_result(&session))
                    : failure_of(error, open);
}

}  // namespace gcoord::security
