#include "client/net/failure.h"

namespace gcoord::client {

Status failure(protocol::ErrorCode code, std::string_view evidence) {
  return public_status(protocol::make_error(code, evidence));
}

bool decides_release(const Status& status) {
  switch (static_cast<protocol::ErrorCode>(status.detail())) {
    case protocol::ErrorCode::LockNotHeld:
    case protocol::ErrorCode::TokenStale:
    case protocol::ErrorCode::HolderOther:
    case protocol::ErrorCode::HoldBroken:
    case protocol::ErrorCode::SessionExpired:
    case protocol::ErrorCode::SessionUnknown:
    case protocol::ErrorCode::SessionClosed:
      return true;
    default:
      return false;
  }
}

Status public_status(const gcoord::Status& status) {
  if (status.ok()) {
    return {};
  }
  return {static_cast<StatusCode>(status.code()), status.message(), status.detail()};
}

}  // namespace gcoord::client
