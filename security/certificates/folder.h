// The folder of a CA, and the files of certificates.
//
// It has ca.crt, ca.key (mode 0600), ca.crl, and issued/SERIAL.crt of every certificate that it
// signed, so that one whose file is lost can still be revoked. Nothing new is written over what is
// there. A renewed certificate replaces its file whole, so that a node that reads it meanwhile sees
// the old one or the new one. One thread; two programs in one folder at a time: one is refused or
// both have their say, never half of it.
#pragma once

#include "common/status.h"
#include "security/certificates/authority.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::certificates {

// All of a file of certificates or a CRL, up to 1 MiB. kCertificateUnreadable.
Result<std::string> read_public_file(const std::filesystem::path& path);

// Mode 0644, whole or not at all. kCertificateInTheWay, kCertificateUnwritten.
Status write_public_file(const std::filesystem::path& path, const std::string& text);
Status replace_public_file(const std::filesystem::path& path, const std::string& text);

// Where an issued pair lies.
struct PairPaths {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

// "DIR/node-1" -> DIR/node-1.crt, DIR/node-1.key.
PairPaths pair_paths(const std::filesystem::path& prefix);

class AuthorityFolder {
 public:
  explicit AuthorityFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path certificate_path() const { return path_ / "ca.crt"; }

  std::filesystem::path key_path() const { return path_ / "ca.key"; }

  std::filesystem::path revocations_path() const { return path_ / "ca.crl"; }

  // Makes the folder (0700; its parent must be there), key, certificate and an empty CRL.
  // kCertificateInTheWay where there is a CA already.
  Result<Authority> found(const AuthorityWishes& wishes) const;

  // kCertificateUnreadable, kKeyUnreadable and those of Authority::load.
  Result<Authority> load() const;

  // Makes a key and a certificate, and notes what was issued. Failures also those of load(), as of
  // the next ones.
  Result<CertificateFacts> issue(const IssueWishes& wishes,
                                 KeyAlgorithm algorithm,
                                 const PairPaths& paths) const;

  // Replaces the certificate, and before it the key where `algorithm` names one.
  Result<CertificateFacts> renew(const RenewWishes& wishes,
                                 const std::optional<KeyAlgorithm>& algorithm,
                                 const PairPaths& paths) const;

  // Replaces the CRL by one with these serials in it besides.
  Result<RevocationFacts> revoke(const std::vector<std::string>& serials, std::int64_t now_s) const;

 private:
  // Empty where there is none.
  Result<std::string> revocations() const;
  Result<CertificateFacts> note_issued(const std::string& pem) const;

  std::filesystem::path path_;
};

}  // namespace gcoord::certificates
