// The calls of Client about users and roles.
#include "client/access/access.h"
#include "client/core/blocking.h"
#include "client/core/client_impl.h"
#include "client/core/future_of.h"

#include <utility>

namespace gcoord::client {

Result<AccessReport> Client::access(const AccessQuery& query) {
  return await<Result<AccessReport>>(*impl_->core(), [&](auto callback) {
    client::access(*impl_->core(), query, std::move(callback));
  });
}

Future<Result<AccessReport>> Client::access_async(const AccessQuery& query) {
  return future_of<Result<AccessReport>>(*impl_->core(), [&](auto callback) {
    client::access(*impl_->core(), query, std::move(callback));
  });
}

Result<AccessReport> Client::change_access(const AccessChange& change) {
  return await<Result<AccessReport>>(*impl_->core(), [&](auto callback) {
    client::change_access(*impl_->core(), change, std::move(callback));
  });
}

Future<Result<AccessReport>> Client::change_access_async(const AccessChange& change) {
  return future_of<Result<AccessReport>>(*impl_->core(), [&](auto callback) {
    client::change_access(*impl_->core(), change, std::move(callback));
  });
}

}  // namespace gcoord::client
