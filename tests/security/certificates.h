// Certificates of a small authority, made in memory, for tests.
//
// Keys are P-256, so a test makes dozens in milliseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord {

struct CertificateWish {
  std::string common_name = "node";
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1"};  // As OpenSSL writes them.
  std::int64_t begins_in_s = -3600;
  std::int64_t ends_in_s = 3600;
};

// PEM of a certificate and of its key.
struct MadeCertificate {
  std::string certificate;
  std::string key;
  std::uint64_t serial = 0;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "test authority");

  // One whose own certificate `above` has issued.
  TestAuthority(const std::string& common_name, TestAuthority& above);
  ~TestAuthority();

  // PEM of its own certificate.
  std::string certificate() const;

  // Of its own certificate.
  std::uint64_t serial() const;

  MadeCertificate issue(const CertificateWish& wish = {});

  // PEM of a revocation list of these serial numbers; it ends in so many seconds.
  std::string revoke(const std::vector<std::uint64_t>& serials, std::int64_t ends_in_s = 3600);

 private:
  void make(const std::string& common_name, TestAuthority& issuer);

  struct Inner;
  std::unique_ptr<Inner> inner_;
};

// Writes the file with rights 0600, in the place of an older one.
void write_private(const std::string& path, const std::string& content);

// Files of one certificate in `folder`: NAME.crt and NAME.key.
void write_certificate(const std::string& folder,
                       const std::string& name,
                       const MadeCertificate& made);

}  // namespace gcoord
