#include "ledger/notes/note_key.h"

#include "common/assert.h"
#include "common/base64.h"
#include "common/utf8.h"
#include "ledger/base/error_details.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr std::byte kEd25519{1};  // The algorithm's number in keys; never renumber.
constexpr std::string_view kSecretPrefix = "PRIVATE+KEY+";
constexpr std::size_t kShown = 80;  // Of a key that cannot be read.

// Unicode's spaces (White_Space), in UTF-8.
constexpr std::string_view kSpaces[] = {
    "\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\xc2\x85", "\xc2\xa0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",   "\u2007",   "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

Status refuse(std::string_view why) {
  return Status{StatusCode::InvalidArgument, std::string{why}, kNoteKey};
}

const unsigned char* octets(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key) {
  return {key, EVP_PKEY_free};
}

std::uint32_t id_of(std::string_view name, const NotePublicKey& bytes) {
  std::string hashed{name};
  hashed += '\n';
  hashed += static_cast<char>(kEd25519);
  hashed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  GCOORD_ASSERT(SHA256(octets(hashed.data()), hashed.size(), hash.data()) == hash.data());
  return std::uint32_t{hash[0]} << 24 | std::uint32_t{hash[1]} << 16 | std::uint32_t{hash[2]} << 8 |
         std::uint32_t{hash[3]};
}

std::string hex_of(std::uint32_t id) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", id);
  return text.data();
}

std::string spelled(const std::string& name, std::uint32_t id, std::span<const std::byte> bytes) {
  std::vector<std::byte> tagged{kEd25519};
  tagged.insert(tagged.end(), bytes.begin(), bytes.end());
  return name + "+" + hex_of(id) + "+" + to_base64(tagged);
}

struct KeyParts {
  std::string name;
  std::string hash;
  std::array<std::byte, 32> bytes{};
};

// NAME+HASH+BASE64; base64 may have a '+' too, names may not.
Result<KeyParts> parts_of(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == text.npos ? first : text.find('+', first + 1);
  if (second == text.npos) {
    return refuse("a key has three parts, NAME+HASH+BASE64");
  }
  const auto bytes = from_base64(text.substr(second + 1));
  if (!bytes || bytes->size() != 33 || bytes->front() != kEd25519) {
    return refuse("the last part is not an Ed25519 key in base64");
  }
  KeyParts parts{std::string{text.substr(0, first)},
                 std::string{text.substr(first + 1, second - first - 1)}};
  std::copy(bytes->begin() + 1, bytes->end(), parts.bytes.begin());
  return parts;
}

}  // namespace

bool note_name_valid(std::string_view name) {
  return !name.empty() && utf8_well_formed(name) && name.find('+') == name.npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return c >= 0 && c < ' '; }) &&
         std::none_of(std::begin(kSpaces), std::end(kSpaces), [&](std::string_view space) {
           return name.find(space) != name.npos;
         });
}

Result<NoteKey> NoteKey::make(std::string name, const NotePublicKey& bytes) {
  if (!note_name_valid(name)) {
    return refuse("a key's name is UTF-8 without spaces and '+'");
  }
  NoteKey key;
  key.key_ = owned(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(bytes.data()), bytes.size()));
  if (key.key_ == nullptr) {
    return refuse("the bytes of the key are not an Ed25519 key");
  }
  key.id_ = id_of(name, bytes);
  key.name_ = std::move(name);
  key.bytes_ = bytes;
  return key;
}

Result<NoteKey> NoteKey::parse(std::string_view text) {
  if (text.starts_with(kSecretPrefix)) {
    return refuse("this is a signer key, a secret; give the verifier key");
  }
  const Result<KeyParts> parts = parts_of(text);
  if (!parts.ok()) {
    return refuse("'" + std::string{text.substr(0, kShown)} + "': " + parts.status().message());
  }
  GCOORD_TRY(NoteKey key, make(parts.value().name, parts.value().bytes));
  if (hex_of(key.id()) != parts.value().hash) {
    return refuse("the key of " + key.name() + " has the hash " + hex_of(key.id()) + ", not " +
                  parts.value().hash.substr(0, kShown));
  }
  return key;
}

std::string NoteKey::text() const {
  return spelled(name_, id_, bytes_);
}

bool NoteKey::verifies(std::string_view text, std::span<const std::byte> signature) const {
  GCOORD_ASSERT(key_ != nullptr);
  if (signature.size() != kNoteSignatureBytes) {
    return false;
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free};
  GCOORD_ASSERT(context != nullptr);
  GCOORD_ASSERT(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  return EVP_DigestVerify(context.get(),
                          octets(signature.data()),
                          signature.size(),
                          octets(text.data()),
                          text.size()) == 1;
}

Result<NoteSigner> NoteSigner::make(std::string name, const NoteSeed& seed) {
  NoteSigner signer;
  signer.secret_ = owned(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed.data()), seed.size()));
  GCOORD_ASSERT(signer.secret_ != nullptr);  // Any 32 bytes are a seed.
  NotePublicKey bytes{};
  std::size_t size = bytes.size();
  GCOORD_ASSERT(EVP_PKEY_get_raw_public_key(signer.secret_.get(),
                                            reinterpret_cast<unsigned char*>(bytes.data()),
                                            &size) == 1);
  GCOORD_ASSERT(size == bytes.size());
  GCOORD_TRY(signer.key_, NoteKey::make(std::move(name), bytes));
  signer.seed_ = seed;
  return signer;
}

Result<NoteSigner> NoteSigner::parse(std::string_view text) {
  if (!text.starts_with(kSecretPrefix)) {
    return refuse("this is not a signer key");
  }
  GCOORD_TRY(const KeyParts parts, parts_of(text.substr(kSecretPrefix.size())));
  GCOORD_TRY(NoteSigner signer, make(parts.name, parts.bytes));
  if (hex_of(signer.key().id()) != parts.hash) {
    return refuse("the signer key of " + signer.key().name() + " has another hash");
  }
  return signer;
}

std::string NoteSigner::secret_text() const {
  return std::string{kSecretPrefix} + spelled(key_.name(), key_.id(), seed_);
}

NoteSignatureBytes NoteSigner::sign(std::string_view text) const {
  GCOORD_ASSERT(secret_ != nullptr);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free};
  GCOORD_ASSERT(context != nullptr);
  GCOORD_ASSERT(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, secret_.get()) == 1);
  NoteSignatureBytes signature{};
  std::size_t size = signature.size();
  GCOORD_ASSERT(EVP_DigestSign(context.get(),
                               reinterpret_cast<unsigned char*>(signature.data()),
                               &size,
                               octets(text.data()),
                               text.size()) == 1);
  GCOORD_ASSERT(size == signature.size());
  return signature;
}

}  // namespace gcoord::ledger
