// Keys of sessions: whoever shows a session's key speaks for it.
//
//   key = HMAC-SHA256(session secret, "gcoord session" || 0x00 || session id, 8 bytes,
//   little-endian)
//
// The secret is the cluster's, so that every node can tell the key from the id alone and no table
// grows. A key in a message or a file is its algorithm's number and its bytes. Keys are secrets:
// they are compared in constant time and wiped when they go. HMAC: RFC 2104, by OpenSSL. Values;
// thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

inline constexpr std::size_t kSessionKeyBytes = 33;  // The algorithm's number and 32 bytes.
inline constexpr std::size_t kSessionKeyTextBytesMax = 128;

class SessionKey {
 public:
  SessionKey() = default;
  ~SessionKey();
  SessionKey(const SessionKey&) = default;
  SessionKey& operator=(const SessionKey&) = default;

  // The key of a session under a secret of the cluster, which is not empty.
  static SessionKey derive(std::span<const std::byte> secret, SessionId session);

  // kSessionKeyInvalid: no key, or of an algorithm that this release does not know.
  static Result<SessionKey> decode(std::span<const std::byte> bytes);

  // "hmac-sha256:HEX", with blanks and line ends around it.
  static Result<SessionKey> parse(std::string_view text);

  // For messages, kSessionKeyBytes, and for files. Secrets both.
  std::span<const std::byte> bytes() const { return bytes_; }

  std::string text() const;

  // In constant time.
  friend bool operator==(const SessionKey& a, const SessionKey& b);

 private:
  std::array<std::byte, kSessionKeyBytes> bytes_{};
};

// The keys of a cluster: of its secret, and of the one before while that is kept. Values; what was
// derived is copied and wiped in the end. Thread-safe once made.
class SessionKeys {
 public:
  // None: the cluster has no secret, and sessions have no keys.
  SessionKeys() = default;
  ~SessionKeys();
  SessionKeys(const SessionKeys&) = default;
  SessionKeys& operator=(const SessionKeys&) = default;

  // `previous` may be empty.
  SessionKeys(std::span<const std::byte> current, std::span<const std::byte> previous);

  bool empty() const { return current_.empty(); }

  // Not empty.
  SessionKey of(SessionId session) const { return SessionKey::derive(current_, session); }

  // Whether this is the session's key under one of the secrets. False when empty.
  bool fits(const SessionKey& key, SessionId session) const;

 private:
  std::vector<std::byte> current_;
  std::vector<std::byte> previous_;
};

}  // namespace gcoord::security
