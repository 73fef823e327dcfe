// The calls of Client about users and roles.
#include "client/access/access.h"
#include "client/api/client_impl.h"
#include "client/core/future_of.h"

namespace gcoord::client {

Result<AccessReport> Client::access(const AccessQuery& query) {
  return blocking<client::access>(*impl_->core(), query);
}

Future<Result<AccessReport>> Client::access_async(const AccessQuery& query) {
  return in_future<client::access>(*impl_->core(), query);
}

Result<AccessReport> Client::change_access(const AccessChange& change) {
  return blocking<client::change_access>(*impl_->core(), change);
}

Future<Result<AccessReport>> Client::change_access_async(const AccessChange& change) {
  return in_future<client::change_access>(*impl_->core(), change);
}

}  // namespace gcoord::client
