#include "security/credentials/session_key.h"

#include "common/bytes.h"
#include "common/wipe.h"
#include "security/credentials/error_details.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

namespace gcoord::security {
namespace {

constexpr std::byte kHmacSha256{1};  // The algorithm's number; never renumber.
constexpr std::string_view kHmacSha256Name = "hmac-sha256:";
constexpr std::string_view kLabel{"gcoord session\0", 15};
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kDigits = "0123456789abcdef";

Status refuse(std::string_view why) {
  return Status{StatusCode::InvalidArgument, std::string{why}, kSessionKeyInvalid};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

SessionKey::~SessionKey() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

SessionKey SessionKey::derive(std::span<const std::byte> secret, SessionId session) {
  GCOORD_ASSERT(!secret.empty());
  std::array<std::byte, kLabel.size() + sizeof(std::uint64_t)> message{};
  std::ranges::copy(std::as_bytes(std::span{kLabel}), message.begin());
  store(message.data() + kLabel.size(), session.value);
  SessionKey key;
  key.bytes_[0] = kHmacSha256;
  unsigned int written = 0;
  const auto* const done = HMAC(EVP_sha256(),
                                secret.data(),
                                static_cast<int>(secret.size()),
                                reinterpret_cast<const unsigned char*>(message.data()),
                                message.size(),
                                reinterpret_cast<unsigned char*>(key.bytes_.data() + 1),
                                &written);
  GCOORD_ASSERT(done != nullptr && written == kSessionKeyBytes - 1);
  return key;
}

Result<SessionKey> SessionKey::decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kSessionKeyBytes || bytes[0] != kHmacSha256) {
    return refuse("the bytes are not the key of a session");
  }
  SessionKey key;
  std::ranges::copy(bytes, key.bytes_.begin());
  return key;
}

Result<SessionKey> SessionKey::parse(std::string_view text) {
  std::string_view hex = trimmed(text);
  if (text.size() > kSessionKeyTextBytesMax || !hex.starts_with(kHmacSha256Name)) {
    return refuse("the text is not the key of a session");
  }
  hex.remove_prefix(kHmacSha256Name.size());
  if (hex.size() != 2 * (kSessionKeyBytes - 1)) {
    return refuse("the key of a session has another length");
  }
  SessionKey key;
  key.bytes_[0] = kHmacSha256;
  for (std::size_t place = 0; place < hex.size(); place += 2) {
    const std::size_t high = kDigits.find(hex[place]);
    const std::size_t low = kDigits.find(hex[place + 1]);
    if (high == kDigits.npos || low == kDigits.npos) {
      return refuse("the key of a session has characters that are no hexadecimal digits");
    }
    key.bytes_[1 + place / 2] = static_cast<std::byte>(high << 4 | low);
  }
  return key;
}

std::string SessionKey::text() const {
  std::string text{kHmacSha256Name};
  for (const std::byte each : std::span{bytes_}.subspan(1)) {
    text += kDigits[std::to_integer<std::size_t>(each >> 4)];
    text += kDigits[std::to_integer<std::size_t>(each & std::byte{15})];
  }
  return text;
}

bool operator==(const SessionKey& a, const SessionKey& b) {
  return CRYPTO_memcmp(a.bytes_.data(), b.bytes_.data(), kSessionKeyBytes) == 0;
}

SessionKeys::SessionKeys(std::span<const std::byte> current, std::span<const std::byte> previous)
    : current_(current.begin(), current.end()), previous_(previous.begin(), previous.end()) {}

SessionKeys::~SessionKeys() {
  gcoord::wipe(current_);
  gcoord::wipe(previous_);
}

bool SessionKeys::fits(const SessionKey& key, SessionId session) const {
  if (empty()) {
    return false;
  }
  return key == SessionKey::derive(current_, session) ||
         (!previous_.empty() && key == SessionKey::derive(previous_, session));
}

}  // namespace gcoord::security
