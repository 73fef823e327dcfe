// Owners of OpenSSL's objects. For sources of this room only: other rooms see no OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace gcoord::security {

template <auto free_one>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    free_one(object);
  }
};

using OwnedBio = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using OwnedCertificate = std::unique_ptr<X509, OpensslFree<X509_free>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using OwnedRevocations = std::unique_ptr<X509_CRL, OpensslFree<X509_CRL_free>>;
using OwnedSsl = std::unique_ptr<SSL, OpensslFree<SSL_free>>;
using OwnedSslContext = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using OwnedSslSession = std::unique_ptr<SSL_SESSION, OpensslFree<SSL_SESSION_free>>;

}  // namespace gcoord::security
