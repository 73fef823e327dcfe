#include "server/detector/datagram_keys.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "membership/detector/message.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::string_view kPurpose = "gcoord detector siphash 1";
constexpr std::size_t kKeyBytes = 16;

SipKey key_of(const security::SecretBytes& bytes) {
  GCOORD_ASSERT(bytes.bytes().size() == kKeyBytes);
  return {load<std::uint64_t>(bytes.bytes().data()), load<std::uint64_t>(&bytes.bytes()[8])};
}

}  // namespace

std::vector<SipKey> datagram_keys(ClusterId cluster,
                                  const security::ClusterSecret* secret,
                                  bool required) {
  std::vector<SipKey> keys;
  if (secret != nullptr) {
    keys.push_back(key_of(secret->derive(kPurpose, kKeyBytes)));
    if (const auto previous = secret->derive_previous(kPurpose, kKeyBytes)) {
      keys.push_back(key_of(*previous));
    }
  }
  if (secret == nullptr || !required) {
    keys.push_back(membership::tag_key_of(cluster));
  }
  return keys;
}

const SipKey& DatagramKeys::of(NodeId node) const {
  const auto heard = heard_.find(node);
  const bool known =
      heard != heard_.end() && std::ranges::find(taken_, heard->second) != taken_.end();
  return known ? heard->second : taken_.front();
}

}  // namespace gcoord::server
