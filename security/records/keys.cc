#include "security/records/keys.h"

#include "common/assert.h"
#include "security/secret/keyed.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace gcoord::security {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSaltBytes = 12;
constexpr std::string_view kCallerPurpose = "gcoord record caller 1";
constexpr std::string_view kCalledPurpose = "gcoord record called 1";
constexpr std::string_view kKeyPurpose = "gcoord record key 1";
constexpr std::string_view kSaltPurpose = "gcoord record salt 1";
constexpr std::string_view kNextPurpose = "gcoord record next 1";

using Octets = unsigned char;
using Nonce = std::array<std::byte, kSaltBytes>;

const Octets* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Octets*>(bytes.data());
}

Octets* octets(std::span<std::byte> bytes) {
  return reinterpret_cast<Octets*>(bytes.data());
}

int length_of(std::span<const std::byte> bytes) {
  GCOORD_ASSERT(bytes.size() <= kRecordPlainBytesMax);
  return static_cast<int>(bytes.size());
}

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};

}  // namespace

struct RecordCipher::Inner {
  std::unique_ptr<EVP_CIPHER_CTX, CipherFree> cipher{EVP_CIPHER_CTX_new()};
  SecretBytes salt;

  Nonce nonce(std::uint64_t sequence) const {
    Nonce nonce;
    std::memcpy(nonce.data(), salt.bytes().data(), nonce.size());
    for (std::size_t k = 0; k < sizeof(sequence); ++k) {
      nonce[kSaltBytes - 1 - k] ^= static_cast<std::byte>(sequence >> (8 * k));
    }
    return nonce;
  }
};

// The context wipes the key that it holds when it is freed.
RecordCipher::RecordCipher(Use use, std::span<const std::byte> key, std::span<const std::byte> salt)
    : inner_(std::make_unique<Inner>()) {
  GCOORD_ASSERT(key.size() == kKeyBytes);
  GCOORD_ASSERT(salt.size() == kSaltBytes);
  inner_->salt = SecretBytes::copy_of(salt);
  GCOORD_ASSERT(inner_->cipher != nullptr);
  GCOORD_ASSERT(EVP_CipherInit_ex(inner_->cipher.get(),
                                  EVP_aes_256_gcm(),
                                  nullptr,
                                  octets(key),
                                  nullptr,
                                  use == Use::Seal ? 1 : 0) == 1);
}

RecordCipher::~RecordCipher() = default;
RecordCipher::RecordCipher(RecordCipher&&) noexcept = default;
RecordCipher& RecordCipher::operator=(RecordCipher&&) noexcept = default;

void RecordCipher::seal(std::uint64_t sequence,
                        std::span<const std::byte> plain,
                        std::span<std::byte> record) {
  GCOORD_ASSERT(record.size() == plain.size() + kRecordExtraBytes);
  const auto header = record.first(kRecordHeaderBytes);
  const auto body = record.subspan(kRecordHeaderBytes, plain.size());
  const auto tag = record.last(kRecordTagBytes);
  const Nonce nonce = inner_->nonce(sequence);
  EVP_CIPHER_CTX* const cipher = inner_->cipher.get();
  int written = 0;
  GCOORD_ASSERT(EVP_EncryptInit_ex(
                    cipher, nullptr, nullptr, nullptr, octets(std::span<const std::byte>{nonce})) ==
                1);
  GCOORD_ASSERT(
      EVP_EncryptUpdate(cipher, nullptr, &written, octets(header), int{kRecordHeaderBytes}) == 1);
  GCOORD_ASSERT(
      EVP_EncryptUpdate(cipher, octets(body), &written, octets(plain), length_of(plain)) == 1);
  GCOORD_ASSERT(EVP_EncryptFinal_ex(cipher, octets(tag), &written) == 1);
  GCOORD_ASSERT(
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, int{kRecordTagBytes}, tag.data()) == 1);
}

bool RecordCipher::open(std::uint64_t sequence,
                        std::span<const std::byte> record,
                        std::span<std::byte> plain) {
  GCOORD_ASSERT(record.size() == plain.size() + kRecordExtraBytes);
  const auto header = record.first(kRecordHeaderBytes);
  const auto body = record.subspan(kRecordHeaderBytes, plain.size());
  std::array<std::byte, kRecordTagBytes> tag;
  std::ranges::copy(record.last(kRecordTagBytes), tag.begin());
  const Nonce nonce = inner_->nonce(sequence);
  EVP_CIPHER_CTX* const cipher = inner_->cipher.get();
  int written = 0;
  const bool opened =
      EVP_DecryptInit_ex(
          cipher, nullptr, nullptr, nullptr, octets(std::span<const std::byte>{nonce})) == 1 &&
      EVP_DecryptUpdate(cipher, nullptr, &written, octets(header), int{kRecordHeaderBytes}) == 1 &&
      EVP_DecryptUpdate(cipher, octets(plain), &written, octets(body), length_of(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, int{kRecordTagBytes}, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher, octets(std::span<std::byte>{tag}), &written) == 1;
  if (!opened) {
    std::ranges::fill(plain, std::byte{0});
  }
  return opened;
}

RecordKeys::RecordKeys(std::span<const std::byte> secret, RecordSide side) {
  GCOORD_ASSERT(secret.size() >= kSecretBytes);
  secret_ = hkdf_sha256(
      secret, {}, side == RecordSide::Caller ? kCallerPurpose : kCalledPurpose, kSecretBytes);
}

RecordCipher RecordKeys::cipher(RecordCipher::Use use) const {
  const SecretBytes key = hkdf_sha256(secret_.bytes(), {}, kKeyPurpose, kKeyBytes);
  const SecretBytes salt = hkdf_sha256(secret_.bytes(), {}, kSaltPurpose, kSaltBytes);
  return {use, key.bytes(), salt.bytes()};
}

void RecordKeys::step() {
  GCOORD_ASSERT(epoch_ != ~std::uint32_t{0});  // A century of one a second.
  secret_ = hkdf_sha256(secret_.bytes(), {}, kNextPurpose, kSecretBytes);
  ++epoch_;
}

}  // namespace gcoord::security
