// What operators do to locks: the public calls over break_lock.h and move_lock.h.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/locks/break_lock.h"
#include "client/locks/move_lock.h"

#include <utility>

namespace gcoord::client {

Result<BrokenLock> Client::break_lock(std::string_view name, BreakOptions options) {
  return await<Result<BrokenLock>>(*impl_->core(), [&](auto callback) {
    client::break_lock(*impl_->core(), name, options, std::move(callback));
  });
}

Status Client::move_lock(std::string_view name, std::uint32_t to_shard) {
  return await<Status>(*impl_->core(), [&](auto callback) {
    client::move_lock(*impl_->core(), name, to_shard, std::move(callback));
  });
}

Future<Status> Client::move_lock_async(std::string_view name, std::uint32_t to_shard) {
  return future_of<Status>(*impl_->core(), [&](auto callback) {
    client::move_lock(*impl_->core(), name, to_shard, std::move(callback));
  });
}

Future<Result<BrokenLock>> Client::break_lock_async(std::string_view name, BreakOptions options) {
  return future_of<Result<BrokenLock>>(*impl_->core(), [&](auto callback) {
    client::break_lock(*impl_->core(), name, options, std::move(callback));
  });
}

}  // namespace gcoord::client
