// The keys of a node for proofs between nodes: of the newest secret of its cluster, and of the one
// before it.
//
// A key has an id that says nothing of it. Two nodes prove by the newest key that both have, so
// that a secret can be replaced on one node after another. Without a secret there is no key. A
// value, moved and not copied; const functions are thread-safe.
#pragma once

#include "security/secret/cluster_secret.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

// Of the newest key first; 0: none.
using ProofKeyIds = std::array<std::uint64_t, 2>;

class ProofKeys {
 public:
  ProofKeys() = default;
  explicit ProofKeys(const security::ClusterSecret& secret);

  ProofKeys clone() const;

  bool empty() const { return ids_[0] == 0; }

  const ProofKeyIds& ids() const { return ids_; }

  // nullptr: no key has this id.
  const security::SecretBytes* find(std::uint64_t id) const;

  // The newest of these keys that is among the offered ones; 0: none is.
  std::uint64_t common_with(const ProofKeyIds& offered) const;

 private:
  ProofKeyIds ids_{};
  std::array<security::SecretBytes, 2> keys_;
};

}  // namespace gcoord::netcore
