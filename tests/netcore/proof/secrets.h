// Secrets and nonces for tests of proofs: each is the number that it was made of.
#pragma once

#include "common/base64.h"
#include "netcore/proof/keys.h"
#include "netcore/proof/proven_frames.h"
#include "security/secret/cluster_secret.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::netcore {

inline security::ClusterSecret secret_of(std::uint8_t number) {
  std::array<std::byte, security::kClusterSecretBytes> bytes;
  bytes.fill(std::byte{number});
  return security::ClusterSecret::parse("gcoord cluster secret 1\nhmac-sha256 " + to_base64(bytes))
      .value()
      .clone();
}

inline ProofKeys keys_of(const security::ClusterSecret& secret) {
  return ProofKeys{secret};
}

inline Nonce nonce_of(std::uint8_t number) {
  Nonce nonce;
  nonce.fill(std::byte{number});
  return nonce;
}

}  // namespace gcoord::netcore
