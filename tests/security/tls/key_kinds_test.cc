// Certificates of every kind of key that TLS 1.3 has, at both ends: the library context of TLS
// knows all of them (library_context.h).
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace gcoord::security {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using Certificate = std::unique_ptr<X509, decltype([](X509* one) { X509_free(one); })>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* one) { EVP_MD_CTX_free(one); })>;
using Maker =
    std::unique_ptr<EVP_PKEY_CTX, decltype([](EVP_PKEY_CTX* one) { EVP_PKEY_CTX_free(one); })>;
using Memory = std::unique_ptr<BIO, decltype([](BIO* one) { BIO_free_all(one); })>;

Key made_key(const std::string& kind) {
  if (kind.starts_with("P-")) {
    return Key{EVP_EC_gen(kind.c_str())};
  }
  const Maker maker{EVP_PKEY_CTX_new_from_name(nullptr, kind.c_str(), nullptr)};
  EVP_PKEY* made = nullptr;
  EVP_PKEY_keygen_init(maker.get());
  if (kind.starts_with("RSA")) {
    EVP_PKEY_CTX_set_rsa_keygen_bits(maker.get(), 2048);
  }
  EXPECT_EQ(EVP_PKEY_generate(maker.get(), &made), 1) << kind;
  return Key{made};
}

std::string text_of(const Memory& memory) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// Signed by its own key, so it is its own authority.
MadeCertificate self_signed(const std::string& kind) {
  const Key key = made_key(kind);
  const Certificate made{X509_new()};
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(
      name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("itself"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_set_pubkey(made.get(), key.get());
  X509_EXTENSION* const names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
  X509_add_ext(made.get(), names, -1);
  X509_EXTENSION_free(names);
  const bool hashes = kind != "ED25519" && kind != "ED448";
  const Digest digest{EVP_MD_CTX_new()};
  EVP_PKEY_CTX* rules = nullptr;
  EVP_DigestSignInit(digest.get(), &rules, hashes ? EVP_sha256() : nullptr, nullptr, key.get());
  if (kind == "RSA-PSS") {  // RFC 8446 section 4.2.3: the salt is as long as the digest.
    EVP_PKEY_CTX_set_rsa_pss_saltlen(rules, RSA_PSS_SALTLEN_DIGEST);
  }
  EXPECT_GT(X509_sign_ctx(made.get(), digest.get()), 0) << kind;
  const Memory certificate{BIO_new(BIO_s_mem())};
  const Memory secret{BIO_new(BIO_s_mem())};
  PEM_write_bio_X509(certificate.get(), made.get());
  PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {.certificate = text_of(certificate), .key = text_of(secret), .serial = 1};
}

TEST(KeyKinds, OfTls13AreKnownAtBothEnds) {
  for (const char* kind : {"P-256", "P-384", "P-521", "RSA", "RSA-PSS", "ED25519", "ED448"}) {
    const ScratchFolder folder;
    write_certificate(folder.path().string(), "both", self_signed(kind));
    const TlsFiles files{.certificate = folder.path("both.crt"),
                         .key = folder.path("both.key"),
                         .authority = folder.path("both.crt")};
    TlsPair pair(loaded(TlsSide::Server, files, {.demand_certificate = true}),
                 loaded(TlsSide::Client, files));
    pair.settle();
    EXPECT_TRUE(pair.client.open()) << kind << pair.client_failure.to_string();
    ASSERT_TRUE(pair.server.open()) << kind << pair.server_failure.to_string();
    EXPECT_EQ(pair.server.peer()->common_name, "itself") << kind;
  }
}

}  // namespace
}  // namespace gcoord::security
