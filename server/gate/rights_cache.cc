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
    return found->second.rights;
  }
  if (users_.size() >= kRightsCachedMax) {
    users_.clear();
  }
  const User user{security::rights_of(table, principal.name), ++number_last_};
  return users_.emplace(principal.name, user).first->second.rights;
}

std::uint64_t RightsCache::number(const security::Principal& principal) const {
  const auto found = security::may_be_user(principal.kind)
                         ? users_.find(std::string_view{principal.name})
                         : users_.end();
  return found == users_.end() ? 1 : found->second.number;
}

}  // namespace gcoord::server
