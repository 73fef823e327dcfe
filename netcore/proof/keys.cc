#include "netcore/proof/keys.h"

#include "security/secret/keyed.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr std::string_view kKeyPurpose = "gcoord peer proof 1";
constexpr std::string_view kIdPurpose = "gcoord peer proof id 1";

static_assert(std::endian::native == std::endian::little);  // As everywhere on the wire.

std::uint64_t id_of(const security::SecretBytes& bytes) {
  std::uint64_t id = 0;
  std::memcpy(&id, bytes.bytes().data(), sizeof(id));
  return id == 0 ? 1 : id;
}

}  // namespace

ProofKeys::ProofKeys(const security::ClusterSecret& secret) {
  ids_[0] = id_of(secret.derive(kIdPurpose, sizeof(std::uint64_t)));
  keys_[0] = secret.derive(kKeyPurpose, security::kMacBytes);
  if (const auto id = secret.derive_previous(kIdPurpose, sizeof(std::uint64_t))) {
    ids_[1] = id_of(*id);
    keys_[1] = *secret.derive_previous(kKeyPurpose, security::kMacBytes);
  }
}

ProofKeys ProofKeys::clone() const {
  ProofKeys copy;
  copy.ids_ = ids_;
  copy.keys_ = {keys_[0].clone(), keys_[1].clone()};
  return copy;
}

const security::SecretBytes* ProofKeys::find(std::uint64_t id) const {
  for (std::size_t k = 0; k < ids_.size(); ++k) {
    if (id != 0 && ids_[k] == id) {
      return &keys_[k];
    }
  }
  return nullptr;
}

std::uint64_t ProofKeys::common_with(const ProofKeyIds& offered) const {
  for (const std::uint64_t id : ids_) {
    if (id != 0 && std::find(offered.begin(), offered.end(), id) != offered.end()) {
      return id;
    }
  }
  return 0;
}

}  // namespace gcoord::netcore
