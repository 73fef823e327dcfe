#include "security/credentials/token.h"

#include "common/base64.h"
#include "common/bytes.h"
#include "security/credentials/error_details.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <utility>
#include <vector>

namespace gcoord::security {
namespace {

constexpr std::string_view kPrefix = "gct1.";
constexpr std::string_view kLabel{"gcoord token\0", 13};
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kEd25519 = 1;  // The algorithm's number; never renumber.
constexpr std::size_t kSignatureBytes = 64;

using Digest = std::array<std::byte, SHA256_DIGEST_LENGTH>;

const unsigned char* octets(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

Digest sha256(const void* bytes, std::size_t size) {
  Digest digest{};
  auto* const out = reinterpret_cast<unsigned char*>(digest.data());
  GCOORD_ASSERT(SHA256(octets(bytes), size, out) == out);
  return digest;
}

std::vector<std::byte> message_of(std::span<const std::byte> claims) {
  std::vector<std::byte> message;
  ByteWriter writer{message};
  writer.bytes(kLabel);
  writer.bytes(claims.data(), claims.size());
  return message;
}

Status malformed() {
  return Status{StatusCode::Unauthenticated, "the text is not a token", kTokenMalformed};
}

struct DigestContext {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  DigestContext() { GCOORD_ASSERT(context != nullptr); }

  DigestContext(const DigestContext&) = delete;
  DigestContext& operator=(const DigestContext&) = delete;

  ~DigestContext() { EVP_MD_CTX_free(context); }
};

bool has_name(PrincipalKind kind) {
  return kind == PrincipalKind::Certificate || kind == PrincipalKind::User;
}

}  // namespace

TokenKey::TokenKey(std::span<const std::byte> seed)
    : key_(
          EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed.data()), seed.size()),
          EVP_PKEY_free) {
  GCOORD_ASSERT(seed.size() == kTokenSeedBytes && key_ != nullptr);
  std::array<unsigned char, 32> public_key{};
  std::size_t size = public_key.size();
  GCOORD_ASSERT(EVP_PKEY_get_raw_public_key(key_.get(), public_key.data(), &size) == 1);
  id_ = load<std::uint32_t>(sha256(public_key.data(), size).data());
}

std::string TokenKey::issue(const TokenClaims& claims) const {
  GCOORD_ASSERT(has_name(claims.principal.kind) && principal_name_valid(claims.principal.name));
  std::vector<std::byte> token;
  ByteWriter writer{token};
  writer.integer(kVersion);
  writer.integer(kEd25519);
  writer.integer(id_);
  writer.integer(static_cast<std::uint8_t>(claims.principal.kind));
  writer.integer(claims.roles_epoch);
  writer.integer(claims.proven_s);
  writer.integer(claims.issued_s);
  writer.integer(claims.expires_s);
  writer.text(claims.principal.name);
  const std::vector<std::byte> message = message_of(token);
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  const DigestContext digest;
  GCOORD_ASSERT(EVP_DigestSignInit(digest.context, nullptr, nullptr, nullptr, key_.get()) == 1);
  GCOORD_ASSERT(
      EVP_DigestSign(
          digest.context, signature.data(), &size, octets(message.data()), message.size()) == 1);
  GCOORD_ASSERT(size == kSignatureBytes);
  writer.bytes(signature.data(), signature.size());
  return std::string{kPrefix} + to_base64(token);
}

bool TokenKey::verifies(std::span<const std::byte> claims,
                        std::span<const std::byte> signature) const {
  const std::vector<std::byte> message = message_of(claims);
  const DigestContext digest;
  GCOORD_ASSERT(EVP_DigestVerifyInit(digest.context, nullptr, nullptr, nullptr, key_.get()) == 1);
  return EVP_DigestVerify(digest.context,
                          octets(signature.data()),
                          signature.size(),
                          octets(message.data()),
                          message.size()) == 1;
}

Result<ParsedToken> parse_token(std::string_view text) {
  if (text.size() > kTokenBytesMax || !text.starts_with(kPrefix)) {
    return malformed();
  }
  const auto bytes = from_base64(text.substr(kPrefix.size()));
  if (!bytes || bytes->size() <= kSignatureBytes) {
    return malformed();
  }
  const auto claims_bytes = std::span{*bytes}.first(bytes->size() - kSignatureBytes);
  ByteReader reader{claims_bytes};
  ParsedToken token;
  const auto version = reader.integer<std::uint8_t>();
  const auto algorithm = reader.integer<std::uint8_t>();
  token.key_id = reader.integer<std::uint32_t>();
  TokenClaims& claims = token.claims;
  claims.principal.kind = static_cast<PrincipalKind>(reader.integer<std::uint8_t>());
  claims.roles_epoch = reader.integer<std::uint64_t>();
  claims.proven_s = reader.integer<std::uint64_t>();
  claims.issued_s = reader.integer<std::uint64_t>();
  claims.expires_s = reader.integer<std::uint64_t>();
  claims.principal.name = reader.text(kPrincipalNameBytesMax);
  if (!reader.complete() || version != kVersion || algorithm != kEd25519 ||
      !has_name(claims.principal.kind) || !principal_name_valid(claims.principal.name)) {
    return malformed();
  }
  const auto* const start = reinterpret_cast<const char*>(bytes->data());
  token.signed_bytes.assign(start, claims_bytes.size());
  token.signature.assign(start + claims_bytes.size(), kSignatureBytes);
  return token;
}

}  // namespace gcoord::security
