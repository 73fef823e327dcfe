// OpenSSL's objects with owners, and its reasons in words. Only sources include this: no public
// header of a room shows OpenSSL. Thread rules are those of OpenSSL 3.
#pragma once

#include "common/status.h"
#include "security/certificates/error_details.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace gcoord::certificates {

template <auto free>
struct OpensslFree {
  template <typename Object>
  void operator()(Object* object) const {
    free(object);
  }
};

template <typename Object, auto free>
using OpensslOwned = std::unique_ptr<Object, OpensslFree<free>>;

using OwnedBio = OpensslOwned<BIO, &BIO_free_all>;
using OwnedKey = OpensslOwned<EVP_PKEY, &EVP_PKEY_free>;
using OwnedCertificate = OpensslOwned<X509, &X509_free>;
using OwnedRevocations = OpensslOwned<X509_CRL, &X509_CRL_free>;
using OwnedTime = OpensslOwned<ASN1_TIME, &ASN1_TIME_free>;
using OwnedNumber = OpensslOwned<BIGNUM, &BN_free>;
using OwnedInteger = OpensslOwned<ASN1_INTEGER, &ASN1_INTEGER_free>;

// The first reason that OpenSSL left behind, and forgets them all.
inline std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return code == 0 ? "no reason given" : std::string{text.data()};
}

// What happens only without memory, or with a library that lacks an algorithm.
inline Status openssl_failed(std::string_view what) {
  return {StatusCode::Internal,
          "OpenSSL: " + std::string{what} + ": " + openssl_reason(),
          kCryptographyFailed};
}

// Reads `text`, which outlives it.
inline OwnedBio bio_of(std::string_view text) {
  return OwnedBio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

// What was written to a memory BIO.
inline std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string{};
}

// What OpenSSL decrypts PEM with, in place of asking on the terminal: encrypted files are refused.
inline void* no_passphrase() {
  static char empty[] = "";
  return empty;
}

}  // namespace gcoord::certificates
