#include "server/gate/rights_cache.h"

namespace gcoord::server {

const std::shared_ptr<const security::RightsOf>& RightsCache::rights(
    const security::AccessTable& table, const security::Principal& principal) {
  if (!security::may_be_user(principal.kind)) {
    return none_;
  }
  if (epoch_ != table.epoch) {
    users_.clear();
    epoch_ = table.epoch;
  }
  const auto found = users_.find(std::string_view{principal.name});
  if (found != users_.end()) {
    return found->second;
  }
  if (users_.size() >= kRightsCachedMax) {
    users_.clear();
  }
  return users_.emplace(principal.name, security::rights_of(table, principal.name)).first->second;
}

}  // namespace gcoord::server
