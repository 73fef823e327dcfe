// Tokens: a short-lived, signed word of the cluster about who somebody is, which every node can
// check by itself.
//
//   text       "gct1." || BASE64(claims || signature)
//   claims     u8 version = 1, u8 algorithm = 1 (Ed25519), u32 key id, u8 kind of principal,
//              u64 roles epoch, u64 proven, u64 issued, u64 expires (Unix
//              seconds), u16 length and bytes of the name; little-endian
//   signature  Ed25519 over "gcoord token" || 0x00 || claims
//   key id     the first 4 bytes of SHA-256 of the public key
//
// The roles epoch is that of the table in which the user was found: a node with an older table does
// not know yet, and a user who was changed since then has to show the password again. The signing
// key is made from 32 bytes that come from the cluster's secret (RFC 5869), the same on every node.
// A token is a secret. Ed25519: RFC 8032, by OpenSSL. Hostile text is refused before anything of it
// is decoded at length, and nothing of it is believed before the signature is checked. Keys are
// values; thread-safe.
#pragma once

#include "common/status.h"
#include "security/credentials/principal.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_pkey_st;  // OpenSSL's EVP_PKEY.

namespace gcoord::security {

inline constexpr std::size_t kTokenBytesMax = 512;  // Of its text.
inline constexpr std::size_t kTokenSeedBytes = 32;

// How long after a password was shown the last token that comes from it ends, renewals included,
// whoever signed it; and how far another node's clock may be ahead.
inline constexpr std::uint64_t kTokenLifeSecondsMax = 24 * 60 * 60;
inline constexpr std::uint64_t kTokenClockSkewSeconds = 60;

struct TokenClaims {
  Principal principal;
  std::uint64_t roles_epoch = 0;
  std::uint64_t proven_s = 0;  // Unix time: when the password was shown.
  std::uint64_t issued_s = 0;
  std::uint64_t expires_s = 0;

  friend bool operator==(const TokenClaims&, const TokenClaims&) = default;
};

class TokenKey {
 public:
  // `seed`: kTokenSeedBytes that nobody can guess.
  explicit TokenKey(std::span<const std::byte> seed);

  std::uint32_t id() const { return id_; }

  // The principal's name is valid.
  std::string issue(const TokenClaims& claims) const;

  bool verifies(std::span<const std::byte> claims, std::span<const std::byte> signature) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
  std::uint32_t id_ = 0;
};

// A token that was taken apart and not believed yet.
struct ParsedToken {
  std::uint32_t key_id = 0;
  TokenClaims claims;
  std::string signed_bytes;  // The claims' bytes.
  std::string signature;
};

// kTokenMalformed.
Result<ParsedToken> parse_token(std::string_view text);

}  // namespace gcoord::security
