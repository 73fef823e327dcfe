#include "security/secret/bytes.h"

#include "common/wipe.h"

#include <openssl/crypto.h>

namespace gcoord::security {

SecretBytes SecretBytes::copy_of(std::span<const std::byte> bytes) {
  return SecretBytes{std::vector<std::byte>(bytes.begin(), bytes.end())};
}

SecretBytes SecretBytes::copy_of(std::string_view text) {
  return copy_of(std::as_bytes(std::span{text}));
}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

bool SecretBytes::operator==(const SecretBytes& other) const {
  return equal_in_constant_time(bytes(), other.bytes());
}

void SecretBytes::wipe() {
  gcoord::wipe(bytes_);
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace gcoord::security
