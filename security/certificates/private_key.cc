#include "security/certificates/private_key.h"

#include "security/certificates/openssl_owned.h"
#include "security/secret/errors.h"
#include "security/secret/file.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace gcoord::certificates {
namespace {

constexpr std::size_t kKeyBytesMax = 16 * 1024;  // RSA of 16,384 bits is smaller.

Status malformed(const std::string& path, const std::string& why) {
  return {StatusCode::InvalidArgument, path + ": " + why, kKeyMalformed};
}

// A memory BIO of OpenSSL's secure kind wipes what it held.
Result<security::SecretBytes> key_pem(evp_pkey_st* key) {
  const OwnedBio bio{BIO_new(BIO_s_secmem())};
  if (bio == nullptr ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("writing a key");
  }
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio.get(), &bytes);
  return security::SecretBytes::copy_of(
      std::string_view{bytes, static_cast<std::size_t>(std::max(count, 0L))});
}

// The failure of a file as one of this room's.
Status unwritten(const Status& status) {
  const bool exists = status.detail() == security::kSecretFileExists;
  return {exists ? StatusCode::AlreadyExists : status.code(),
          status.message(),
          exists ? kCertificateInTheWay : kCertificateUnwritten};
}

}  // namespace

std::optional<KeyAlgorithm> parse_algorithm(std::string_view name) {
  const auto found = std::ranges::find(kAlgorithmNames, name);
  if (found == std::end(kAlgorithmNames)) {
    return std::nullopt;
  }
  return static_cast<KeyAlgorithm>(found - std::begin(kAlgorithmNames));
}

void PrivateKey::Free::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}

PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;
PrivateKey::~PrivateKey() = default;

Result<PrivateKey> PrivateKey::make(KeyAlgorithm algorithm) {
  evp_pkey_st* key = algorithm == KeyAlgorithm::Ed25519
                         ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                         : EVP_EC_gen("P-256");
  if (key == nullptr) {
    return openssl_failed("making a key");
  }
  return PrivateKey{key};
}

Result<PrivateKey> PrivateKey::read(const std::string& path) {
  const auto bytes = security::read_secret_file(path, kKeyBytesMax);
  if (!bytes.ok() && bytes.status().detail() == security::kSecretMalformed) {
    return malformed(path, "it is larger than 16 KiB");
  }
  if (!bytes.ok()) {
    return Status{bytes.status().code(), bytes.status().message(), kKeyUnreadable};
  }
  const OwnedBio bio = bio_of(bytes.value().text());
  PrivateKey key{PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_passphrase())};
  if (key.key_ == nullptr) {
    return malformed(path, "it is no private key in PEM without a password: " + openssl_reason());
  }
  return key;
}

Status PrivateKey::write_new(const std::string& path) const {
  GCOORD_TRY(const auto pem, key_pem(openssl()));
  const Status written = security::write_new_secret_file(path, pem.bytes());
  return written.ok() ? written : unwritten(written);
}

Status PrivateKey::replace(const std::string& path) const {
  GCOORD_TRY(const auto pem, key_pem(openssl()));
  const Status written = security::write_secret_file(path, pem.bytes());
  return written.ok() ? written : unwritten(written);
}

}  // namespace gcoord::certificates
