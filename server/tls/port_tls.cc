#include "server/tls/port_tls.h"

#include "common/assert.h"

namespace gcoord::server {

PortTls::Rule PortTls::rule() const {
  const std::lock_guard lock(mutex_);
  return rule_;
}

// What is replaced may be the last of its context, which is freed outside of the lock.
void PortTls::set(Rule rule) {
  GCOORD_ASSERT(rule.mode == TlsMode::Off || rule.context != nullptr);
  const std::lock_guard lock(mutex_);
  std::swap(rule_, rule);
}

}  // namespace gcoord::server
