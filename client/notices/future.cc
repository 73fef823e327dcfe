#include "gcoord/future.h"

#include "client/net/failure.h"

namespace gcoord::client {

Status blocked_in_callback() {
  return failure(protocol::ErrorCode::BlockedCallback);
}

}  // namespace gcoord::client
