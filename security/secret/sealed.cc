#include "security/secret/sealed.h"

#include "common/assert.h"
#include "security/secret/errors.h"
#include "security/secret/keyed.h"

#include <openssl/evp.h>

#include <memory>

namespace gcoord::security {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kBytesMax = std::size_t{1} << 20;  // Far above any secret.

static_assert(1 + kNonceBytes + kTagBytes == kSealBytes);

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherFree>;

const unsigned char* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

unsigned char* octets(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

int length_of(std::span<const std::byte> bytes) {
  GCOORD_ASSERT(bytes.size() <= kBytesMax);
  return static_cast<int>(bytes.size());
}

Status broken() {
  return {StatusCode::PermissionDenied,
          "a sealed message was made with another key, or was changed on its way",
          kSealBroken};
}

}  // namespace

std::vector<std::byte> seal(std::span<const std::byte> key,
                            std::span<const std::byte> context,
                            std::span<const std::byte> plain) {
  GCOORD_ASSERT(key.size() == kSealKeyBytes);
  std::vector<std::byte> out(plain.size() + kSealBytes);
  out[0] = std::byte{kSealAlgorithm};
  const auto nonce = std::span{out}.subspan(1, kNonceBytes);
  const auto body = std::span{out}.subspan(1 + kNonceBytes, plain.size());
  const auto tag = std::span{out}.last(kTagBytes);
  random_bytes(nonce);
  const Cipher cipher{EVP_CIPHER_CTX_new()};
  int written = 0;
  GCOORD_ASSERT(cipher != nullptr);
  GCOORD_ASSERT(EVP_EncryptInit_ex(
                    cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(nonce)) == 1);
  GCOORD_ASSERT(
      EVP_EncryptUpdate(cipher.get(), nullptr, &written, octets(context), length_of(context)) == 1);
  GCOORD_ASSERT(EVP_EncryptUpdate(
                    cipher.get(), octets(body), &written, octets(plain), length_of(plain)) == 1);
  GCOORD_ASSERT(EVP_EncryptFinal_ex(cipher.get(), octets(tag), &written) == 1);
  GCOORD_ASSERT(
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, int{kTagBytes}, tag.data()) == 1);
  return out;
}

Result<SecretBytes> open_seal(std::span<const std::byte> key,
                              std::span<const std::byte> context,
                              std::span<const std::byte> sealed) {
  GCOORD_ASSERT(key.size() == kSealKeyBytes);
  if (sealed.size() < kSealBytes || sealed.size() > kBytesMax ||
      sealed[0] != std::byte{kSealAlgorithm}) {
    return broken();
  }
  const auto nonce = sealed.subspan(1, kNonceBytes);
  const auto body = sealed.subspan(1 + kNonceBytes, sealed.size() - kSealBytes);
  std::vector<std::byte> tag(sealed.end() - kTagBytes, sealed.end());
  const Cipher cipher{EVP_CIPHER_CTX_new()};
  SecretBytes plain(body.size());
  int written = 0;
  GCOORD_ASSERT(cipher != nullptr);
  const bool opened =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(nonce)) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &written, octets(context), length_of(context)) ==
          1 &&
      EVP_DecryptUpdate(
          cipher.get(), octets(plain.mutable_bytes()), &written, octets(body), length_of(body)) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, int{kTagBytes}, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), octets(std::span{tag}), &written) == 1;
  if (!opened) {
    return broken();
  }
  return plain;
}

}  // namespace gcoord::security
