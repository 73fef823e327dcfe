#include "security/tls/verified_chains.h"

#include <utility>

namespace gcoord::security {

bool VerifiedChains::knows(const std::string& key,
                           std::int64_t now_s,
                           std::shared_ptr<const ChainLinks>* links) {
  const std::lock_guard lock(mutex_);
  auto found = young_.find(key);
  const bool young = found != young_.end();
  if (!young && (found = old_.find(key)) == old_.end()) {
    return false;
  }
  const Holds holds = found->second;
  if (now_s < holds.from_s || now_s >= holds.until_s) {
    return false;
  }
  if (!young) {
    put(key, holds);
  }
  if (links != nullptr) {
    *links = holds.links;
  }
  ++hits_;
  return true;
}

std::uint64_t VerifiedChains::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

void VerifiedChains::keep(const std::string& key, const Holds& holds) {
  if (key.size() > kKeyBytesMax || holds.until_s <= holds.from_s) {
    return;
  }
  const std::lock_guard lock(mutex_);
  put(key, holds);
}

void VerifiedChains::put(const std::string& key, const Holds& holds) {
  if (young_.size() >= kGenerationMax && !young_.contains(key)) {
    old_ = std::exchange(young_, {});
  }
  young_[key] = holds;
}

}  // namespace gcoord::security
