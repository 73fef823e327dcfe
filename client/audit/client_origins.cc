// The calls of Client about who is behind sessions.
#include "client/audit/origins.h"
#include "client/core/blocking.h"
#include "client/core/client_impl.h"
#include "client/core/future_of.h"

#include <utility>

namespace gcoord::client {

Result<std::vector<SessionOrigin>> Client::session_origins(
    const std::vector<std::uint64_t>& sessions) {
  return await<Origins>(*impl_->core(), [&](auto callback) {
    std::vector<SessionId> ids;
    for (const std::uint64_t session : sessions) {
      ids.push_back(SessionId{session});
    }
    client::session_origins(*impl_->core(), std::move(ids), std::move(callback));
  });
}

Result<std::vector<SessionOrigin>> Client::holder_origins(const std::string& name) {
  return await<Origins>(*impl_->core(), [&](auto callback) {
    client::holder_origins(*impl_->core(), name, std::move(callback));
  });
}

Future<Result<std::vector<SessionOrigin>>> Client::holder_origins_async(const std::string& name) {
  return future_of<Origins>(*impl_->core(), [&](auto callback) {
    client::holder_origins(*impl_->core(), name, std::move(callback));
  });
}

}  // namespace gcoord::client
