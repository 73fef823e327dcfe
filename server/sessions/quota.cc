#include "server/sessions/quota.h"

#include "common/assert.h"
#include "server/sessions/views.h"

namespace gcoord::server {

bool SessionQuota::admit(SessionId session, const SessionViews& views) {
  if (limit_ == 0) {
    return true;
  }
  if (accounts_.size() >= kAccountsMax) {
    std::erase_if(accounts_, [](const auto& each) { return each.second.on_its_way == 0; });
  }
  Account& account = accounts_[session.value];
  if (account.left == 0) {
    const std::uint64_t used = views.lock_count(session) + account.on_its_way;
    account.left = used < limit_ ? static_cast<std::uint32_t>(limit_ - used) : 0;
  }
  if (account.left == 0) {
    if (account.on_its_way == 0) {
      accounts_.erase(session.value);
    }
    return false;
  }
  --account.left;
  ++account.on_its_way;
  return true;
}

void SessionQuota::on_decided(const protocol::RequestSlot& request) {
  const bool acquires = request.kind == protocol::RequestKind::LockAcquire ||
                        request.kind == protocol::RequestKind::LockAcquireHold;
  if (limit_ == 0 || !acquires) {
    return;
  }
  const auto found = accounts_.find(request.session);
  GCOORD_ASSERT(found != accounts_.end());
  GCOORD_ASSERT(found->second.on_its_way > 0);
  --found->second.on_its_way;
}

}  // namespace gcoord::server
