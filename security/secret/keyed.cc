#include "security/secret/keyed.h"

#include "common/assert.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>

namespace gcoord::security {
namespace {

struct MacFree {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }

  void operator()(EVP_MAC_CTX* mac) const { EVP_MAC_CTX_free(mac); }
};

struct KdfFree {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }

  void operator()(EVP_KDF_CTX* kdf) const { EVP_KDF_CTX_free(kdf); }
};

constexpr std::size_t kHkdfBytesMax = 255 * kMacBytes;  // RFC 5869 section 2.3.

const unsigned char* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

OSSL_PARAM digest_param() {
  static char name[] = "SHA256";
  return OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
}

OSSL_PARAM octet_param(const char* key, std::span<const std::byte> bytes) {
  // The library takes what it only reads without const.
  return OSSL_PARAM_construct_octet_string(key, const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

SecretBytes hmac_sha256(std::span<const std::byte> key,
                        std::initializer_list<std::span<const std::byte>> parts) {
  GCOORD_ASSERT(!key.empty());
  const std::unique_ptr<EVP_MAC, MacFree> algorithm{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  GCOORD_ASSERT(algorithm != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, MacFree> mac{EVP_MAC_CTX_new(algorithm.get())};
  GCOORD_ASSERT(mac != nullptr);
  const OSSL_PARAM params[] = {digest_param(), OSSL_PARAM_construct_end()};
  GCOORD_ASSERT(EVP_MAC_init(mac.get(), octets(key), key.size(), params) == 1);
  for (const std::span<const std::byte> part : parts) {
    GCOORD_ASSERT(EVP_MAC_update(mac.get(), octets(part), part.size()) == 1);
  }
  SecretBytes out(kMacBytes);
  std::size_t written = 0;
  auto* to = reinterpret_cast<unsigned char*>(out.mutable_bytes().data());
  GCOORD_ASSERT(EVP_MAC_final(mac.get(), to, &written, out.size()) == 1);
  GCOORD_ASSERT(written == kMacBytes);
  return out;
}

SecretBytes hkdf_sha256(std::span<const std::byte> secret,
                        std::span<const std::byte> salt,
                        std::string_view purpose,
                        std::size_t count) {
  GCOORD_ASSERT(!secret.empty());
  GCOORD_ASSERT(count > 0 && count <= kHkdfBytesMax);
  const std::unique_ptr<EVP_KDF, KdfFree> algorithm{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
  GCOORD_ASSERT(algorithm != nullptr);
  const std::unique_ptr<EVP_KDF_CTX, KdfFree> kdf{EVP_KDF_CTX_new(algorithm.get())};
  GCOORD_ASSERT(kdf != nullptr);
  // An absent salt is as many zeros as a hash has (RFC 5869 section 2.2).
  const std::byte zeros[kMacBytes] = {};
  const OSSL_PARAM params[] = {
      digest_param(),
      octet_param(OSSL_KDF_PARAM_KEY, secret),
      octet_param(OSSL_KDF_PARAM_SALT, salt.empty() ? std::span<const std::byte>{zeros} : salt),
      octet_param(OSSL_KDF_PARAM_INFO, std::as_bytes(std::span{purpose})),
      OSSL_PARAM_construct_end()};
  SecretBytes out(count);
  auto* to = reinterpret_cast<unsigned char*>(out.mutable_bytes().data());
  GCOORD_ASSERT(EVP_KDF_derive(kdf.get(), to, count, params) == 1);
  return out;
}

void random_bytes(std::span<std::byte> out) {
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  GCOORD_ASSERT(out.empty() || RAND_priv_bytes(to, static_cast<int>(out.size())) == 1);
}

SecretBytes random_secret(std::size_t count) {
  SecretBytes out(count);
  random_bytes(out.mutable_bytes());
  return out;
}

}  // namespace gcoord::security
