#include "security/certificates/fields.h"

#include "security/certificates/host_name.h"

#include <ctime>

namespace gcoord::certificates {
namespace {

constexpr int kSerialBits = 127;  // At least 64 of them random (CA/Browser Forum, section 7.1).

const EVP_MD* digest_for(EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
}

bool set_serial(X509* certificate) {
  const OwnedNumber number{BN_new()};
  // The first bit is one, so that all serials are of one length and none is 0.
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, const Validity& validity) {
  const OwnedTime from{ASN1_TIME_set(nullptr, static_cast<std::time_t>(validity.from_s))};
  const OwnedTime until{ASN1_TIME_set(nullptr, static_cast<std::time_t>(validity.until_s))};
  return from != nullptr && until != nullptr && X509_set1_notBefore(certificate, from.get()) == 1 &&
         X509_set1_notAfter(certificate, until.get()) == 1;
}

bool push_text(GENERAL_NAMES* names, int type, const std::string& text) {
  OpensslOwned<GENERAL_NAME, &GENERAL_NAME_free> name{GENERAL_NAME_new()};
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  if (name == nullptr || value == nullptr ||
      ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) {
    ASN1_IA5STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), type, value);
  return sk_GENERAL_NAME_push(names, name.release()) > 0;
}

bool push_address(GENERAL_NAMES* names, const std::string& text) {
  OpensslOwned<GENERAL_NAME, &GENERAL_NAME_free> name{GENERAL_NAME_new()};
  ASN1_OCTET_STRING* value = a2i_IPADDRESS(text.c_str());
  if (name == nullptr || value == nullptr) {
    ASN1_OCTET_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), GEN_IPADD, value);
  return sk_GENERAL_NAME_push(names, name.release()) > 0;
}

}  // namespace

Result<OwnedCertificate> begin_certificate(const Validity& validity, EVP_PKEY* key) {
  OwnedCertificate certificate{X509_new()};
  if (certificate == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !set_serial(certificate.get()) || !set_validity(certificate.get(), validity) ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return openssl_failed("making a certificate");
  }
  return certificate;
}

bool set_common_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate),
                                    NID_commonName,
                                    MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()),
                                    -1,
                                    0) == 1;
}

bool Extensions::add(int nid, const char* value) const {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpensslOwned<X509_EXTENSION, &X509_EXTENSION_free> extension{
      X509V3_EXT_conf_nid(nullptr, &context, nid, value)};
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Status add_names(X509* certificate, const std::string& uri, const std::vector<std::string>& hosts) {
  const OpensslOwned<GENERAL_NAMES, &GENERAL_NAMES_free> names{GENERAL_NAMES_new()};
  bool made = names != nullptr && push_text(names.get(), GEN_URI, uri);
  for (const std::string& host : hosts) {
    const HostKind kind = kind_of_host(host);
    if (kind == HostKind::Neither) {
      return {StatusCode::InvalidArgument,
              "'" + host + "' is neither a DNS name nor an address",
              kHostInvalid};
    }
    made = made && (kind == HostKind::Address ? push_address(names.get(), host)
                                              : push_text(names.get(), GEN_DNS, host));
  }
  if (!made || X509_add1_ext_i2d(
                   certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return openssl_failed("writing the names of a certificate");
  }
  return {};
}

bool sign(X509* certificate, EVP_PKEY* key) {
  return X509_sign(certificate, key, digest_for(key)) > 0;
}

bool sign(X509_CRL* revocations, EVP_PKEY* key) {
  return X509_CRL_sign(revocations, key, digest_for(key)) > 0;
}

}  // namespace gcoord::certificates
