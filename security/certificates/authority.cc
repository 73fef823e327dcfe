#include "security/certificates/authority.h"

#include "security/certificates/fields.h"
#include "security/certificates/parsed.h"
#include "security/certificates/revocation_list.h"

#include <algorithm>
#include <utility>

namespace gcoord::certificates {
namespace {

constexpr std::int64_t kDaySeconds = 24 * 60 * 60;
// Clocks of other machines may be behind; what was made just now is to be valid there.
constexpr std::int64_t kSkewSeconds = 5 * 60;

Status unfit(const std::string& why) {
  return {StatusCode::InvalidArgument, why, kAuthorityUnfit};
}

Status invalid_days(const std::string& why) {
  return {StatusCode::InvalidArgument, why, kValidityInvalid};
}

bool add_authority_extensions(X509* certificate) {
  const Extensions extensions{.certificate = certificate, .issuer = certificate};
  return extensions.add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
         extensions.add(NID_key_usage, "critical,keyCertSign,cRLSign") &&
         extensions.add(NID_subject_key_identifier, "hash") &&
         extensions.add(NID_authority_key_identifier, "keyid:always");
}

bool add_leaf_extensions(const Extensions& extensions, HolderKind kind) {
  const char* usage = kind == HolderKind::Node ? "serverAuth,clientAuth" : "clientAuth";
  return extensions.add(NID_basic_constraints, "critical,CA:FALSE") &&
         extensions.add(NID_key_usage, "critical,digitalSignature") &&
         extensions.add(NID_ext_key_usage, usage) &&
         extensions.add(NID_subject_key_identifier, "hash") &&
         extensions.add(NID_authority_key_identifier, "keyid:always");
}

// Of the old certificate everything that says whom it is for.
bool copy_names(X509* from, X509* into) {
  if (X509_set_subject_name(into, X509_get_subject_name(from)) != 1) {
    return false;
  }
  for (int i = 0; i < X509_get_ext_count(from); ++i) {
    X509_EXTENSION* extension = X509_get_ext(from, i);
    const int nid = OBJ_obj2nid(X509_EXTENSION_get_object(extension));
    // The identifier of the key follows the key.
    if (nid != NID_subject_key_identifier && X509_add_ext(into, extension, -1) != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

void Authority::Free::operator()(x509_st* certificate) const {
  X509_free(certificate);
}

Authority::Authority(x509_st* certificate, PrivateKey key)
    : certificate_(certificate), key_(std::move(key)), facts_(facts_of(certificate)) {}

Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::found(const AuthorityWishes& wishes, PrivateKey key) {
  const Holder holder{.kind = HolderKind::Authority, .cluster = wishes.cluster};
  GCOORD_TRY_STATUS(check_holder(holder));
  if (wishes.days < 1 || wishes.days > kDaysMax) {
    return invalid_days("--days is not between 1 and 36500");
  }
  if (wishes.name.empty() || wishes.name.size() > 64) {
    return unfit("the name of a CA has 1 to 64 bytes");
  }
  const Validity validity{.from_s = wishes.now_s - kSkewSeconds,
                          .until_s = wishes.now_s + wishes.days * kDaySeconds};
  GCOORD_TRY(OwnedCertificate certificate, begin_certificate(validity, key.openssl()));
  X509* raw = certificate.get();
  GCOORD_TRY_STATUS(add_names(raw, uri_of(holder), {}));
  if (!set_common_name(raw, wishes.name) ||
      X509_set_issuer_name(raw, X509_get_subject_name(raw)) != 1 ||
      !add_authority_extensions(raw) || !sign(raw, key.openssl())) {
    return openssl_failed("making the certificate of a CA");
  }
  return Authority{certificate.release(), std::move(key)};
}

Result<Authority> Authority::load(std::string_view certificate_pem, PrivateKey key) {
  GCOORD_TRY(auto parsed, parse_certificates(certificate_pem));
  X509* certificate = parsed.front().get();
  if (X509_check_ca(certificate) != 1) {
    return unfit("its certificate may not sign others");
  }
  if (X509_check_private_key(certificate, key.openssl()) != 1) {
    ERR_clear_error();
    return Status{StatusCode::InvalidArgument,
                  "the CA's key does not belong to its certificate",
                  kCertificateKey};
  }
  return Authority{parsed.front().release(), std::move(key)};
}

std::uint64_t Authority::cluster() const {
  for (const std::string& uri : facts_.uris) {
    if (const auto holder = parse_holder(uri); holder && holder->kind == HolderKind::Authority) {
      return holder->cluster;
    }
  }
  return 0;
}

Result<std::string> Authority::pem() const {
  return pem_of(certificate_.get());
}

Result<std::int64_t> Authority::end_of(std::int64_t now_s,
                                       std::uint32_t days,
                                       std::uint32_t default_days) const {
  if (now_s > facts_.not_after_s) {
    return Status{StatusCode::FailedPrecondition, "the CA itself has expired", kCertificateExpired};
  }
  if (days > kDaysMax) {
    return invalid_days("--days is not between 1 and 36500");
  }
  const std::int64_t end = now_s + (days != 0 ? days : default_days) * kDaySeconds;
  if (days != 0 && end > facts_.not_after_s) {
    const std::int64_t left = (facts_.not_after_s - now_s) / kDaySeconds;
    return invalid_days("the CA itself ends in " + std::to_string(left) + " days");
  }
  return std::min(end, facts_.not_after_s);
}

Result<std::string> Authority::issue(const IssueWishes& wishes, const PrivateKey& key) const {
  Holder holder = wishes.holder;
  if (holder.cluster == 0) {
    holder.cluster = cluster();
  }
  GCOORD_TRY_STATUS(check_holder(holder));
  if (cluster() != 0 && holder.cluster != cluster()) {
    return Status{StatusCode::InvalidArgument,
                  "the CA is of cluster " + std::to_string(cluster()) + ", not of " +
                      std::to_string(holder.cluster),
                  kClusterDiffers};
  }
  const bool node = holder.kind == HolderKind::Node;
  if (node && wishes.hosts.empty()) {
    return Status{StatusCode::InvalidArgument,
                  "a node needs the names or addresses that clients reach it at",
                  kHostsMissing};
  }
  GCOORD_TRY(const std::int64_t end,
             end_of(wishes.now_s, wishes.days, node ? kNodeDays : kUserDays));
  const Validity validity{.from_s = wishes.now_s - kSkewSeconds, .until_s = end};
  GCOORD_TRY(const OwnedCertificate certificate, begin_certificate(validity, key.openssl()));
  X509* raw = certificate.get();
  GCOORD_TRY_STATUS(add_names(raw, uri_of(holder), wishes.hosts));
  if (!set_common_name(raw, holder_name(holder)) ||
      X509_set_issuer_name(raw, X509_get_subject_name(certificate_.get())) != 1 ||
      !add_leaf_extensions({raw, certificate_.get()}, holder.kind) || !sign(raw, key_.openssl())) {
    return openssl_failed("making a certificate");
  }
  return pem_of(raw);
}

Result<std::string> Authority::renew(std::string_view certificate_pem,
                                     std::string_view revocations_pem,
                                     const RenewWishes& wishes) const {
  GCOORD_TRY(const auto parsed, parse_certificates(certificate_pem));
  X509* old = parsed.front().get();
  if (X509_verify(old, key_.openssl()) != 1) {
    ERR_clear_error();
    return Status{StatusCode::InvalidArgument,
                  "the certificate was made by another CA: " + facts_of(old).issuer,
                  kCertificateForeign};
  }
  const CertificateFacts before = facts_of(old);
  if (!revocations_pem.empty()) {
    GCOORD_TRY(const RevocationFacts list, read_revocations(revocations_pem));
    if (std::ranges::find(list.serials, before.serial) != list.serials.end()) {
      return Status{StatusCode::FailedPrecondition,
                    "serial " + before.serial + " is revoked",
                    kCertificateRevoked};
    }
  }
  const std::int64_t lasted = before.not_after_s - before.not_before_s - kSkewSeconds;
  const auto days_before = static_cast<std::uint32_t>(std::clamp(
      (lasted + kDaySeconds - 1) / kDaySeconds, std::int64_t{1}, std::int64_t{kDaysMax}));
  GCOORD_TRY(const std::int64_t end, end_of(wishes.now_s, wishes.days, days_before));
  const Validity validity{.from_s = wishes.now_s - kSkewSeconds, .until_s = end};
  EVP_PKEY* key =
      wishes.replacement != nullptr ? wishes.replacement->openssl() : X509_get0_pubkey(old);
  GCOORD_TRY(const OwnedCertificate certificate, begin_certificate(validity, key));
  X509* raw = certificate.get();
  if (!copy_names(old, raw) ||
      X509_set_issuer_name(raw, X509_get_subject_name(certificate_.get())) != 1 ||
      !Extensions{raw, certificate_.get()}.add(NID_subject_key_identifier, "hash") ||
      !sign(raw, key_.openssl())) {
    return openssl_failed("renewing a certificate");
  }
  return pem_of(raw);
}

Result<std::string> Authority::revoke(std::string_view revocations_pem,
                                      const std::vector<std::string>& serials,
                                      std::int64_t now_s) const {
  RevocationList list{.issuer = certificate_.get(), .key = key_.openssl()};
  if (!revocations_pem.empty()) {
    GCOORD_TRY_STATUS(list.take(revocations_pem));
  }
  GCOORD_TRY_STATUS(list.add(serials, now_s));
  return list.signed_pem(now_s, facts_.not_after_s);
}

}  // namespace gcoord::certificates
