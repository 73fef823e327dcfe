#include "security/certificates/revocation_list.h"

#include "security/certificates/fields.h"
#include "security/certificates/parsed.h"

#include <algorithm>
#include <cctype>
#include <ctime>

namespace gcoord::certificates {
namespace {

constexpr std::size_t kSerialDigitsMax = 40;  // 20 bytes (RFC 5280, section 4.1.2.2).

OwnedTime time_of(std::int64_t unix_s) {
  return OwnedTime{ASN1_TIME_set(nullptr, static_cast<std::time_t>(unix_s))};
}

OwnedInteger parse_serial(const std::string& digits) {
  const bool hex =
      !digits.empty() && digits.size() <= kSerialDigitsMax &&
      std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
  BIGNUM* number = nullptr;
  if (!hex || BN_hex2bn(&number, digits.c_str()) == 0) {
    return nullptr;
  }
  const OwnedNumber owned{number};
  return OwnedInteger{BN_to_ASN1_INTEGER(number, nullptr)};
}

bool set_extensions(X509_CRL* list, X509* issuer, std::uint64_t number) {
  const OwnedInteger counted{ASN1_INTEGER_new()};
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, nullptr, nullptr, list, 0);
  const OpensslOwned<X509_EXTENSION, &X509_EXTENSION_free> issuer_key{
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always")};
  return counted != nullptr && ASN1_INTEGER_set_uint64(counted.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(list, NID_crl_number, counted.get(), 0, 0) == 1 &&
         issuer_key != nullptr && X509_CRL_add_ext(list, issuer_key.get(), -1) == 1;
}

}  // namespace

Status RevocationList::take(std::string_view pem) {
  GCOORD_TRY(const OwnedRevocations before, parse_revocations(pem));
  if (X509_CRL_verify(before.get(), key) != 1) {
    ERR_clear_error();
    return {StatusCode::InvalidArgument, "the CRL is of another CA", kRevocationsUnfit};
  }
  STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(before.get());
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    entries.emplace_back(X509_REVOKED_dup(sk_X509_REVOKED_value(revoked, i)));
  }
  const std::string text = facts_of(before.get()).number;
  number = text.empty() ? 0 : std::stoull(text);
  return {};
}

Status RevocationList::add(const std::vector<std::string>& serials, std::int64_t now_s) {
  for (const std::string& digits : serials) {
    const OwnedInteger serial = parse_serial(digits);
    if (serial == nullptr) {
      return {StatusCode::InvalidArgument,
              "'" + digits + "' is no serial of up to 40 hex digits",
              kCertificateMalformed};
    }
    const bool known = std::ranges::any_of(entries, [&](const OwnedRevoked& each) {
      return ASN1_INTEGER_cmp(X509_REVOKED_get0_serialNumber(each.get()), serial.get()) == 0;
    });
    if (known) {
      continue;
    }
    OwnedRevoked entry{X509_REVOKED_new()};
    const OwnedTime when = time_of(now_s);
    if (entry == nullptr || when == nullptr ||
        X509_REVOKED_set_serialNumber(entry.get(), serial.get()) != 1 ||
        X509_REVOKED_set_revocationDate(entry.get(), when.get()) != 1) {
      return openssl_failed("revoking a serial");
    }
    entries.push_back(std::move(entry));
  }
  return {};
}

Result<std::string> RevocationList::signed_pem(std::int64_t now_s,
                                               std::int64_t next_update_s) const {
  const OwnedRevocations list{X509_CRL_new()};
  const OwnedTime updated = time_of(now_s);
  const OwnedTime next = time_of(next_update_s);
  bool made = list != nullptr && updated != nullptr && next != nullptr &&
              X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer)) == 1 &&
              X509_CRL_set1_lastUpdate(list.get(), updated.get()) == 1 &&
              X509_CRL_set1_nextUpdate(list.get(), next.get()) == 1 &&
              set_extensions(list.get(), issuer, number + 1);
  for (const OwnedRevoked& each : entries) {
    X509_REVOKED* copy = X509_REVOKED_dup(each.get());
    made = made && copy != nullptr && X509_CRL_add0_revoked(list.get(), copy) == 1;
  }
  if (!made || X509_CRL_sort(list.get()) != 1 || !sign(list.get(), key)) {
    return openssl_failed("making a CRL");
  }
  return pem_of(list.get());
}

}  // namespace gcoord::certificates
