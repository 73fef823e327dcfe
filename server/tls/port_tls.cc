#include "server/tls/port_tls.h"

#include "common/assert.h"
#include "security/tls/revocation_check.h"

namespace gcoord::server {

PortTls::Rule PortTls::rule() const {
  const std::lock_guard lock(mutex_);
  return rule_;
}

bool PortTls::revokes(const security::TlsPeer& peer) const {
  return security::RevocationCheck(rule().context).revokes(peer);
}

// What is replaced may be the last of its context, which is freed outside of the lock.
void PortTls::set(Rule rule) {
  GCOORD_ASSERT(rule.mode == TlsMode::Off || rule.context != nullptr);
  const std::lock_guard lock(mutex_);
  std::swap(rule_, rule);
}

}  // namespace gcoord::server
