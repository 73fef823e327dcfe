#include "server/identities/node_identities.h"

#include "server/platform/boot_time.h"

#include <span>

namespace gcoord::server {
namespace {

constexpr std::string_view kTokenPurpose = "gcoord token ed25519 1";
constexpr std::string_view kSessionPurpose = "gcoord session key 1";
constexpr std::size_t kSessionSecretBytes = 32;

std::span<const std::byte> bytes_of(const std::optional<security::SecretBytes>& secret) {
  return secret ? secret->bytes() : std::span<const std::byte>{};
}

}  // namespace

IdentityKeys identity_keys(const security::ClusterSecret& secret) {
  const auto token = secret.derive(kTokenPurpose, security::kTokenSeedBytes);
  const auto token_before = secret.derive_previous(kTokenPurpose, security::kTokenSeedBytes);
  const auto session = secret.derive(kSessionPurpose, kSessionSecretBytes);
  const auto session_before = secret.derive_previous(kSessionPurpose, kSessionSecretBytes);
  return {security::TokenRing{token.bytes(), bytes_of(token_before)},
          security::SessionKeys{session.bytes(), bytes_of(session_before)}};
}

NodeIdentities::NodeIdentities(const Environment& environment, SessionKeyMode mode)
    : metrics_(environment.metrics),
      passwords_(environment.wake),
      requests_({.replies = environment.replies,
                 .connections = environment.connections,
                 .users = environment.users,
                 .passwords = passwords_,
                 .metrics = metrics_,
                 .now_ms = environment.now_ms,
                 .wall_us = [] { return wall_ms() * 1000; },
                 .token_life_s = environment.token_life_s},
                mode) {}

void NodeIdentities::set_secret(const security::ClusterSecret* secret) {
  requests_.set_keys(secret == nullptr ? IdentityKeys{} : identity_keys(*secret));
}

}  // namespace gcoord::server
