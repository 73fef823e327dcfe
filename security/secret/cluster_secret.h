// The secret that all nodes of a cluster share, and the keys that are derived from it.
//
// As text it is a file of at most three lines, newest first, so that a secret can be replaced while
// the cluster works: nodes believe the previous one as well, until every node has the new one.
//
//     gcoord cluster secret 1
//     hmac-sha256 <32 bytes as base64>
//     hmac-sha256 <32 bytes as base64>
//
// The word before each secret is the algorithm that it is for; another one is refused here and can
// come later. The secret itself is used for nothing but deriving (HKDF, RFC 5869): one purpose, one
// key. The purposes in use: "gcoord peer proof 1", "gcoord token ed25519 1", "gcoord session key
// 1", "gcoord join 1". A value, moved and not copied; const functions are thread-safe.
#pragma once

#include "common/status.h"
#include "security/secret/bytes.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::security {

inline constexpr std::size_t kClusterSecretBytes = 32;
inline constexpr std::size_t kClusterSecretTextMax = 1024;

// The file's name in a data directory.
inline constexpr std::string_view kClusterSecretName = "cluster.secret";

class ClusterSecret {
 public:
  static ClusterSecret generate();
  // GC3122 for what is not such a text.
  static Result<ClusterSecret> parse(std::string_view text);
  // As read_secret_file and parse, with the path in the message.
  static Result<ClusterSecret> read(const std::string& path);

  SecretBytes to_text() const;

  // A new secret, with this one's newest as the previous one.
  ClusterSecret rotated() const;

  ClusterSecret clone() const;

  const SecretBytes& current() const { return current_; }

  // nullptr: there is none.
  const SecretBytes* previous() const { return previous_ ? &*previous_ : nullptr; }

  // A key of `count` bytes for one purpose, of the newest secret.
  SecretBytes derive(std::string_view purpose, std::size_t count) const;

  // The same of the previous one; nothing if there is none.
  std::optional<SecretBytes> derive_previous(std::string_view purpose, std::size_t count) const;

  // Says which secret is the newest without saying anything of it: 16 hexadecimal digits, for
  // people, logs and metrics.
  std::string id() const;

  // The same of the previous one; empty if there is none.
  std::string previous_id() const;

 private:
  explicit ClusterSecret(SecretBytes current, std::optional<SecretBytes> previous = {});

  SecretBytes current_;
  std::optional<SecretBytes> previous_;
};

}  // namespace gcoord::security
