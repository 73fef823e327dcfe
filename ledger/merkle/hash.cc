// The direct functions are deprecated in OpenSSL 3, but the ones that are not look the algorithm up
// by name at every call, which costs more than hashing a node (common/name_hash.cc).
#define OPENSSL_SUPPRESS_DEPRECATED

#include "ledger/merkle/hash.h"

#include "common/assert.h"

#include <openssl/sha.h>

namespace gcoord::ledger {
namespace {

constexpr unsigned char kLeaf = 0;
constexpr unsigned char kNode = 1;

MerkleHash finished(SHA256_CTX& state) {
  MerkleHash hash;
  GCOORD_ASSERT(SHA256_Final(reinterpret_cast<unsigned char*>(hash.data()), &state) == 1);
  return hash;
}

}  // namespace

MerkleHash hash_leaf(std::span<const std::byte> entry) {
  SHA256_CTX state;
  GCOORD_ASSERT(SHA256_Init(&state) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, &kLeaf, 1) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, entry.data(), entry.size()) == 1);
  return finished(state);
}

MerkleHash hash_node(const MerkleHash& left, const MerkleHash& right) {
  SHA256_CTX state;
  GCOORD_ASSERT(SHA256_Init(&state) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, &kNode, 1) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, left.data(), left.size()) == 1);
  GCOORD_ASSERT(SHA256_Update(&state, right.data(), right.size()) == 1);
  return finished(state);
}

MerkleHash empty_root() {
  SHA256_CTX state;
  GCOORD_ASSERT(SHA256_Init(&state) == 1);
  return finished(state);
}

}  // namespace gcoord::ledger
