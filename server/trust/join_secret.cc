#include "server/trust/join_secret.h"

#include "common/bytes.h"
#include "security/secret/file.h"
#include "security/secret/keyed.h"
#include "security/secret/sealed.h"

#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::string_view kPurpose = "gcoord join 1";
constexpr std::string_view kSalt = "gcoord join token";

security::SecretBytes key_of(const protocol::JoinToken& token) {
  return security::hkdf_sha256(
      token, std::as_bytes(std::span{kSalt}), kPurpose, security::kSealKeyBytes);
}

std::vector<std::byte> context_of(const JoinedNode& joined) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(joined.cluster.value);
  writer.integer(joined.node.value);
  return bytes;
}

}  // namespace

std::vector<std::byte> seal_join_secret(const security::ClusterSecret& secret,
                                        const protocol::JoinToken& token,
                                        const JoinedNode& joined) {
  const security::SecretBytes text = secret.to_text();
  return security::seal(key_of(token).bytes(), context_of(joined), text.bytes());
}

Status keep_join_secret(const protocol::JoinAnswer& answer,
                        const protocol::JoinToken& token,
                        const std::string& data_dir) {
  if (answer.sealed_secret.empty()) {
    return {};
  }
  GCOORD_TRY(
      const security::SecretBytes text,
      security::open_seal(
          key_of(token).bytes(), context_of({answer.cluster, answer.node}), answer.sealed_secret));
  GCOORD_TRY_STATUS(security::ClusterSecret::parse(text.text()).status());
  return security::write_secret_file(data_dir + "/" + std::string{security::kClusterSecretName},
                                     text.bytes());
}

}  // namespace gcoord::server
