// A private key of a certificate: made, read from and written to a file that only its owner reads.
//
// Its bytes are OpenSSL's and wiped with it; what passes through here on the way to a file is wiped
// too. A file that others may read or change is refused, and so is an encrypted one, for which
// somebody would have to type a password. Moved, not copied; const functions are thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace gcoord::certificates {

// The names are those of an option. Both are signatures of 128 bits' strength; P-256 is known
// everywhere, Ed25519 is faster and its signatures need no randomness (RFC 8032).
enum class KeyAlgorithm : std::uint8_t { P256, Ed25519 };

inline constexpr std::string_view kAlgorithmNames[] = {"p256", "ed25519"};

std::optional<KeyAlgorithm> parse_algorithm(std::string_view name);

class PrivateKey {
 public:
  // kCryptographyFailed.
  static Result<PrivateKey> make(KeyAlgorithm algorithm);

  // PKCS #8, or what OpenSSL wrote before that. kKeyUnreadable, kKeyMalformed; the path is in the
  // message.
  static Result<PrivateKey> read(const std::string& path);

  PrivateKey(PrivateKey&&) noexcept;
  PrivateKey& operator=(PrivateKey&&) noexcept;
  ~PrivateKey();

  // Mode 0600, whole or not at all. `write_new` takes no name that something has
  // (kCertificateInTheWay). kCertificateUnwritten.
  Status write_new(const std::string& path) const;
  Status replace(const std::string& path) const;

  evp_pkey_st* openssl() const { return key_.get(); }

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };

  explicit PrivateKey(evp_pkey_st* key) : key_(key) {}

  std::unique_ptr<evp_pkey_st, Free> key_;
};

}  // namespace gcoord::certificates
