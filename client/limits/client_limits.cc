// The calls of Client about limits and denials.
#include "client/core/blocking.h"
#include "client/core/client_impl.h"
#include "client/core/future_of.h"
#include "client/limits/limits.h"

#include <utility>

namespace gcoord::client {

Result<LimitsReport> Client::limits(const LimitsQuery& query) {
  return await<Result<LimitsReport>>(*impl_->core(), [&](auto callback) {
    client::limits(*impl_->core(), query, std::move(callback));
  });
}

Future<Result<LimitsReport>> Client::limits_async(const LimitsQuery& query) {
  return future_of<Result<LimitsReport>>(*impl_->core(), [&](auto callback) {
    client::limits(*impl_->core(), query, std::move(callback));
  });
}

Result<LimitsReport> Client::change_limits(const LimitsChange& change) {
  return await<Result<LimitsReport>>(*impl_->core(), [&](auto callback) {
    client::change_limits(*impl_->core(), change, std::move(callback));
  });
}

Future<Result<LimitsReport>> Client::change_limits_async(const LimitsChange& change) {
  return future_of<Result<LimitsReport>>(*impl_->core(), [&](auto callback) {
    client::change_limits(*impl_->core(), change, std::move(callback));
  });
}

}  // namespace gcoord::client
