#include "security/tls/client_tickets.h"

#include <utility>

namespace gcoord::security {

void ClientTickets::put(const std::string& endpoint, OwnedSslSession session) {
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= kEndpointsMax && sessions_.count(endpoint) == 0) {
    sessions_.erase(sessions_.begin());
  }
  sessions_[endpoint] = std::move(session);
}

OwnedSslSession ClientTickets::take(const std::string& endpoint) {
  const std::lock_guard lock(mutex_);
  const auto node = sessions_.extract(endpoint);
  return node.empty() ? OwnedSslSession{} : std::move(node.mapped());
}

}  // namespace gcoord::security
