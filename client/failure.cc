#include "client/failure.h"

namespace gcoord::client {

Status failure(rpc::ErrorCode code, std::string_view evidence) {
  return public_status(rpc::make_error(code, evidence));
}

bool decides_release(const Status& status) {
  switch (static_cast<rpc::ErrorCode>(status.detail())) {
    case rpc::ErrorCode::LockNotHeld:
    case rpc::ErrorCode::TokenStale:
    case rpc::ErrorCode::HolderOther:
    case rpc::ErrorCode::HoldBroken:
    case rpc::ErrorCode::SessionExpired:
    case rpc::ErrorCode::SessionUnknown:
    case rpc::ErrorCode::SessionClosed:
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
