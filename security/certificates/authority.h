// A small certificate authority for labs and first clusters.
//
// It is one self-signed certificate that signs those of nodes and users, and a list of those that
// it has revoked (X.509 v3 and CRL v2, RFC 5280). Whoever has its key can be any node and any user,
// and the key lies in a file: a company's own CA is the better one where there is one. Signing and
// texts only; folder.h keeps the files. The time is a parameter. Const functions are thread-safe.
#pragma once

#include "common/status.h"
#include "security/certificates/certificate.h"
#include "security/certificates/holder.h"
#include "security/certificates/private_key.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct x509_st;

namespace gcoord::certificates {

inline constexpr std::uint32_t kAuthorityDays = 3650;
inline constexpr std::uint32_t kNodeDays = 365;
inline constexpr std::uint32_t kUserDays = 90;
inline constexpr std::uint32_t kDaysMax = 36'500;

struct AuthorityWishes {
  std::uint64_t cluster = 0;           // It signs for this cluster alone.
  std::string name = "gcoord lab CA";  // Its common name.
  KeyAlgorithm algorithm = KeyAlgorithm::P256;
  std::int64_t now_s = 0;
  std::uint32_t days = kAuthorityDays;
};

struct IssueWishes {
  Holder holder;                     // A node or a user. Cluster 0: that of the CA.
  std::vector<std::string> hosts{};  // DNS names and addresses that a node is reached at.
  std::int64_t now_s = 0;
  std::uint32_t days = 0;  // 0: as a node or a user has, and not beyond the CA's end.
};

struct RenewWishes {
  std::int64_t now_s = 0;
  std::uint32_t days = 0;                   // 0: as before.
  const PrivateKey* replacement = nullptr;  // nullptr: the key stays.
};

class Authority {
 public:
  // A new one, whose key the caller has made and keeps. kHolderInvalid, kValidityInvalid.
  static Result<Authority> found(const AuthorityWishes& wishes, PrivateKey key);

  // kAuthorityUnfit for a certificate that may not sign others, kCertificateKey for another key.
  static Result<Authority> load(std::string_view certificate_pem, PrivateKey key);

  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  const CertificateFacts& facts() const { return facts_; }

  // That its certificate names; 0: none.
  std::uint64_t cluster() const;

  Result<std::string> pem() const;

  // A certificate for the holder of this key, as PEM. kHolderInvalid, kClusterDiffers,
  // kHostInvalid, kHostsMissing, kValidityInvalid, kCertificateExpired when the CA itself is.
  Result<std::string> issue(const IssueWishes& wishes, const PrivateKey& key) const;

  // The same names with a new end and serial. kCertificateMalformed, kCertificateForeign,
  // kCertificateRevoked by that list (empty: there is none), kValidityInvalid.
  Result<std::string> renew(std::string_view certificate_pem,
                            std::string_view revocations_pem,
                            const RenewWishes& wishes) const;

  // The list with these serials in it besides, newly signed; the first one where `revocations_pem`
  // is empty. It is valid until the CA's end: a lab whose list nobody renews must not stand still.
  // kCertificateMalformed for a serial that is none, kRevocationsUnfit for a list of another CA.
  Result<std::string> revoke(std::string_view revocations_pem,
                             const std::vector<std::string>& serials,
                             std::int64_t now_s) const;

 private:
  struct Free {
    void operator()(x509_st* certificate) const;
  };

  Authority(x509_st* certificate, PrivateKey key);

  Result<std::int64_t> end_of(std::int64_t now_s,
                              std::uint32_t days,
                              std::uint32_t default_days) const;

  std::unique_ptr<x509_st, Free> certificate_;
  PrivateKey key_;
  CertificateFacts facts_;
};

}  // namespace gcoord::certificates
