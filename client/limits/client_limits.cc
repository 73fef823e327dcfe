// The calls of Client about limits and denials.
#include "client/api/client_impl.h"
#include "client/core/future_of.h"
#include "client/limits/limits.h"

namespace gcoord::client {

Result<LimitsReport> Client::limits(const LimitsQuery& query) {
  return blocking<client::limits>(*impl_->core(), query);
}

Future<Result<LimitsReport>> Client::limits_async(const LimitsQuery& query) {
  return in_future<client::limits>(*impl_->core(), query);
}

Result<LimitsReport> Client::change_limits(const LimitsChange& change) {
  return blocking<client::change_limits>(*impl_->core(), change);
}

Future<Result<LimitsReport>> Client::change_limits_async(const LimitsChange& change) {
  return in_future<client::change_limits>(*impl_->core(), change);
}

}  // namespace gcoord::client
