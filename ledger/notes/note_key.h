// The keys of signed notes: Ed25519, under a name (C2SP signed-note; Go's sumdb/note).
//
//   verifier key   NAME+HASH+BASE64(0x01 || 32 bytes of public key)
//   signer key     PRIVATE+KEY+NAME+HASH+BASE64(0x01 || 32 bytes of seed)
//   HASH           8 hex digits, the key's id: the first 4 bytes, the highest on top, of
//                  SHA-256(NAME || 0x0A || 0x01 || public key)
//
// A name is UTF-8 without spaces and without '+'. Ed25519 by OpenSSL. Keys are values; all of this
// is thread-safe. A signer key is a secret: it is never part of a message of this library.
#pragma once

#include "common/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_pkey_st;  // OpenSSL's EVP_PKEY.

namespace gcoord::ledger {

inline constexpr std::size_t kNoteSeedBytes = 32;
inline constexpr std::size_t kNoteSignatureBytes = 64;

using NoteSeed = std::array<std::byte, kNoteSeedBytes>;
using NotePublicKey = std::array<std::byte, 32>;
using NoteSignatureBytes = std::array<std::byte, kNoteSignatureBytes>;

// Whether a key may have this name.
bool note_name_valid(std::string_view name);

// Who may have signed.
class NoteKey {
 public:
  // kNoteKey if this is no verifier key, one of another algorithm, or one whose hash is not its
  // own.
  static Result<NoteKey> parse(std::string_view text);

  // kNoteKey if the name is none.
  static Result<NoteKey> make(std::string name, const NotePublicKey& bytes);

  const std::string& name() const { return name_; }

  std::uint32_t id() const { return id_; }

  const NotePublicKey& bytes() const { return bytes_; }

  // As a verifier key.
  std::string text() const;

  // Whether these bytes are this key's signature of the text.
  bool verifies(std::string_view text, std::span<const std::byte> signature) const;

 private:
  std::string name_;
  std::uint32_t id_ = 0;
  NotePublicKey bytes_{};
  std::shared_ptr<evp_pkey_st> key_;
};

// Who signs.
class NoteSigner {
 public:
  // The signer whose secret is this seed: 32 bytes that nobody can guess. kNoteKey if the name is
  // none.
  static Result<NoteSigner> make(std::string name, const NoteSeed& seed);

  // kNoteKey if this is no signer key.
  static Result<NoteSigner> parse(std::string_view text);

  const NoteKey& key() const { return key_; }

  // As a signer key. A secret.
  std::string secret_text() const;

  NoteSignatureBytes sign(std::string_view text) const;

 private:
  NoteKey key_;
  NoteSeed seed_{};
  std::shared_ptr<evp_pkey_st> secret_;
};

}  // namespace gcoord::ledger
