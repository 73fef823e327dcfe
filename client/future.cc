#include "gcoord/future.h"

#include "client/failure.h"

namespace gcoord::client {

Status blocked_in_callback() {
  return failure(rpc::ErrorCode::BlockedCallback);
}

}  // namespace gcoord::client
