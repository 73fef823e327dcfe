#include "tests/security/certificates.h"

#include "common/assert.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace gcoord {
namespace {

template <typename Write>
std::string pem_of(Write write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  GCOORD_ASSERT(write(bio) == 1);
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(count));
  BIO_free(bio);
  return text;
}

std::string pem_of_certificate(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

void extend(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  GCOORD_ASSERT(extension != nullptr);
  GCOORD_ASSERT(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509* begin_certificate(EVP_PKEY* key, std::uint64_t serial, const CertificateWish& wish) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial);
  const std::time_t now = std::time(nullptr);
  ASN1_TIME_set(X509_getm_notBefore(certificate), now + wish.begins_in_s);
  ASN1_TIME_set(X509_getm_notAfter(certificate), now + wish.ends_in_s);
  X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate),
                             NID_commonName,
                             MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wish.common_name.data()),
                             static_cast<int>(wish.common_name.size()),
                             -1,
                             0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

}  // namespace

struct TestAuthority::Inner {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
  std::uint64_t serial = 1;
  std::uint64_t last_serial = 1;
};

TestAuthority::TestAuthority(const std::string& common_name) : inner_(std::make_unique<Inner>()) {
  make(common_name, *this);
}

TestAuthority::TestAuthority(const std::string& common_name, TestAuthority& above)
    : inner_(std::make_unique<Inner>()) {
  inner_->serial = ++above.inner_->last_serial;
  make(common_name, above);
}

void TestAuthority::make(const std::string& common_name, TestAuthority& issuer) {
  Inner& own = *inner_;
  own.certificate =
      begin_certificate(own.key, own.serial, {.common_name = common_name, .ends_in_s = 36'000});
  X509_set_issuer_name(own.certificate, X509_get_subject_name(issuer.inner_->certificate));
  extend(own.certificate, NID_basic_constraints, "critical,CA:TRUE");
  extend(own.certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(own.certificate, NID_subject_key_identifier, "hash");
  GCOORD_ASSERT(X509_sign(own.certificate, issuer.inner_->key, EVP_sha256()) > 0);
}

std::uint64_t TestAuthority::serial() const {
  return inner_->serial;
}

TestAuthority::~TestAuthority() {
  X509_free(inner_->certificate);
  EVP_PKEY_free(inner_->key);
}

std::string TestAuthority::certificate() const {
  return pem_of_certificate(inner_->certificate);
}

MadeCertificate TestAuthority::issue(const CertificateWish& wish) {
  Inner& own = *inner_;
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = begin_certificate(key, ++own.last_serial, wish);
  X509_set_issuer_name(certificate, X509_get_subject_name(own.certificate));
  extend(certificate, NID_basic_constraints, "critical,CA:FALSE");
  extend(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
  if (!wish.names.empty()) {
    extend(certificate, NID_subject_alt_name, joined(wish.names));
  }
  GCOORD_ASSERT(X509_sign(certificate, own.key, EVP_sha256()) > 0);
  MadeCertificate made{.certificate = pem_of_certificate(certificate),
                       .key = pem_of([&](BIO* bio) {
                         return PEM_write_bio_PrivateKey(
                             bio, key, nullptr, nullptr, 0, nullptr, nullptr);
                       }),
                       .serial = own.last_serial};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

std::string TestAuthority::revoke(const std::vector<std::uint64_t>& serials,
                                  std::int64_t ends_in_s) {
  Inner& own = *inner_;
  X509_CRL* const list = X509_CRL_new();
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(own.certificate));
  ASN1_TIME* const begin = ASN1_TIME_set(nullptr, std::time(nullptr) - 7200);
  ASN1_TIME* const end = ASN1_TIME_set(nullptr, std::time(nullptr) + ends_in_s);
  X509_CRL_set1_lastUpdate(list, begin);
  X509_CRL_set1_nextUpdate(list, end);
  for (const std::uint64_t serial : serials) {
    X509_REVOKED* const row = X509_REVOKED_new();
    ASN1_INTEGER* const number = ASN1_INTEGER_new();
    ASN1_INTEGER_set_uint64(number, serial);
    X509_REVOKED_set_serialNumber(row, number);
    X509_REVOKED_set_revocationDate(row, begin);
    X509_CRL_add0_revoked(list, row);
    ASN1_INTEGER_free(number);
  }
  X509_CRL_sort(list);
  GCOORD_ASSERT(X509_CRL_sign(list, own.key, EVP_sha256()) > 0);
  std::string text = pem_of([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list); });
  ASN1_TIME_free(begin);
  ASN1_TIME_free(end);
  X509_CRL_free(list);
  return text;
}

void write_private(const std::string& path, const std::string& content) {
  const std::string next = path + ".next";
  const int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  GCOORD_ASSERT(fd >= 0);
  GCOORD_ASSERT(::write(fd, content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
  ::close(fd);
  GCOORD_ASSERT(std::rename(next.c_str(), path.c_str()) == 0);
}

void write_certificate(const std::string& folder,
                       const std::string& name,
                       const MadeCertificate& made) {
  write_private(folder + "/" + name + ".crt", made.certificate);
  write_private(folder + "/" + name + ".key", made.key);
}

}  // namespace gcoord
