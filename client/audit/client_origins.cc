// The calls of Client about who is behind sessions.
#include "client/api/client_impl.h"
#include "client/audit/origins.h"
#include "client/core/future_of.h"

namespace gcoord::client {

Origins Client::session_origins(const std::vector<std::uint64_t>& sessions) {
  return blocking<client::session_origins>(*impl_->core(), sessions);
}

Future<Origins> Client::session_origins_async(const std::vector<std::uint64_t>& sessions) {
  return in_future<client::session_origins>(*impl_->core(), sessions);
}

Origins Client::holder_origins(const std::string& name) {
  return blocking<client::holder_origins>(*impl_->core(), name);
}

Future<Origins> Client::holder_origins_async(const std::string& name) {
  return in_future<client::holder_origins>(*impl_->core(), name);
}

}  // namespace gcoord::client
