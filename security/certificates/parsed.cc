#include "security/certificates/parsed.h"

#include <arpa/inet.h>

#include <array>
#include <ctime>

namespace gcoord::certificates {
namespace {

// A chain of certificates is a handful; a text with more is none.
constexpr std::size_t kCertificatesMax = 64;

void free_text(char* text) {
  OPENSSL_free(text);
}

std::string name_text(const X509_NAME* name) {
  const OwnedBio bio{BIO_new(BIO_s_mem())};
  // As `openssl x509 -subject`, without what would control a terminal.
  X509_NAME_print_ex(bio.get(), name, 0, (XN_FLAG_ONELINE | ASN1_STRFLGS_ESC_CTRL));
  return text_of(bio.get());
}

std::string string_text(const ASN1_STRING* text) {
  const unsigned char* bytes = ASN1_STRING_get0_data(text);
  return {bytes, bytes + ASN1_STRING_length(text)};
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int count = ASN1_STRING_length(bytes);
  const int family = count == 4 ? AF_INET : AF_INET6;
  if (count != 4 && count != 16) {
    return "invalid";
  }
  return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size());
}

void take_names(X509* certificate, CertificateFacts& facts) {
  const OpensslOwned<GENERAL_NAMES, &GENERAL_NAMES_free> names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    switch (name->type) {
      case GEN_URI:
        facts.uris.push_back(string_text(name->d.uniformResourceIdentifier));
        break;
      case GEN_DNS:
        facts.dns.push_back(string_text(name->d.dNSName));
        break;
      case GEN_IPADD:
        facts.addresses.push_back(address_of(name->d.iPAddress));
        break;
      default:
        break;
    }
  }
}

std::string key_of(X509* certificate) {
  EVP_PKEY* key = X509_get0_pubkey(certificate);
  if (key == nullptr) {
    return "unknown";
  }
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_ED25519) {
    return "ed25519";
  }
  const std::string bits = std::to_string(EVP_PKEY_get_bits(key));
  if (type == EVP_PKEY_EC) {
    std::array<char, 64> group{};
    std::size_t length = 0;
    EVP_PKEY_get_group_name(key, group.data(), group.size(), &length);
    return std::string_view{group.data()} == "prime256v1" ? "p256" : "ec " + bits;
  }
  return type == EVP_PKEY_RSA ? "rsa " + bits : "type " + std::to_string(type);
}

std::string fingerprint_of(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int count = 0;
  X509_digest(certificate, EVP_sha256(), digest.data(), &count);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < count; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

template <typename Object>
Result<std::string> written_by(int (*write)(BIO*, const Object*), const Object* object) {
  const OwnedBio bio{BIO_new(BIO_s_mem())};
  if (bio == nullptr || write(bio.get(), object) != 1) {
    return openssl_failed("writing PEM");
  }
  return text_of(bio.get());
}

}  // namespace

Result<std::vector<OwnedCertificate>> parse_certificates(std::string_view pem) {
  const OwnedBio bio = bio_of(pem);
  std::vector<OwnedCertificate> parsed;
  for (;;) {
    OwnedCertificate next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, no_passphrase())};
    if (next == nullptr) {
      break;
    }
    parsed.push_back(std::move(next));
    if (parsed.size() > kCertificatesMax) {
      return Status{StatusCode::InvalidArgument,
                    "more than 64 certificates in one file",
                    kCertificateMalformed};
    }
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = openssl_reason();
  if (!at_end) {
    return Status{StatusCode::InvalidArgument,
                  "a certificate cannot be read: " + reason,
                  kCertificateMalformed};
  }
  if (parsed.empty()) {
    return Status{
        StatusCode::InvalidArgument, "no line -----BEGIN CERTIFICATE-----", kCertificateMalformed};
  }
  return parsed;
}

Result<OwnedRevocations> parse_revocations(std::string_view pem) {
  const OwnedBio bio = bio_of(pem);
  OwnedRevocations parsed{PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, no_passphrase())};
  if (parsed == nullptr) {
    return Status{
        StatusCode::InvalidArgument, "it is no CRL in PEM: " + openssl_reason(), kRevocationsUnfit};
  }
  return parsed;
}

std::int64_t unix_seconds(const ASN1_TIME* time) {
  std::tm parts{};
  return time != nullptr && ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string serial_of(const ASN1_INTEGER* serial) {
  const OwnedNumber number{ASN1_INTEGER_to_BN(serial, nullptr)};
  const OpensslOwned<char, &free_text> text{BN_bn2hex(number.get())};
  return text == nullptr ? "" : text.get();
}

CertificateFacts facts_of(X509* certificate) {
  CertificateFacts facts{
      .subject = name_text(X509_get_subject_name(certificate)),
      .issuer = name_text(X509_get_issuer_name(certificate)),
      .serial = serial_of(X509_get0_serialNumber(certificate)),
      .fingerprint = fingerprint_of(certificate),
      .key = key_of(certificate),
      .not_before_s = unix_seconds(X509_get0_notBefore(certificate)),
      .not_after_s = unix_seconds(X509_get0_notAfter(certificate)),
      .authority = X509_check_ca(certificate) == 1,
  };
  take_names(certificate, facts);
  ERR_clear_error();
  return facts;
}

RevocationFacts facts_of(X509_CRL* revocations) {
  RevocationFacts facts{
      .issuer = name_text(X509_CRL_get_issuer(revocations)),
      .updated_s = unix_seconds(X509_CRL_get0_lastUpdate(revocations)),
      .next_update_s = unix_seconds(X509_CRL_get0_nextUpdate(revocations)),
  };
  const OwnedInteger number{static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(revocations, NID_crl_number, nullptr, nullptr))};
  std::uint64_t value = 0;
  if (number != nullptr && ASN1_INTEGER_get_uint64(&value, number.get()) == 1) {
    facts.number = std::to_string(value);
  }
  const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(revocations);
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    facts.serials.push_back(
        serial_of(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(revoked, i))));
  }
  return facts;
}

Result<std::string> pem_of(X509* certificate) {
  return written_by<X509>(&PEM_write_bio_X509, certificate);
}

Result<std::string> pem_of(X509_CRL* revocations) {
  return written_by<X509_CRL>(&PEM_write_bio_X509_CRL, revocations);
}

}  // namespace gcoord::certificates
