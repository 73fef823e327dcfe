#include "ledger/heads/signature_set.h"

namespace gcoord::server {

bool SignatureSet::add(NodeId node, const SignatureMessage& message) {
  if (message.size < floor_) {
    return false;
  }
  signatures_[message.size][node] = message;
  while (signatures_.size() > kSizesMax) {
    const bool lowest = signatures_.begin()->first == message.size;
    signatures_.erase(signatures_.begin());
    if (lowest) {
      return false;
    }
  }
  return true;
}

void SignatureSet::forget_below(std::uint64_t size) {
  floor_ = size;
  signatures_.erase(signatures_.begin(), signatures_.lower_bound(size));
}

}  // namespace gcoord::server
