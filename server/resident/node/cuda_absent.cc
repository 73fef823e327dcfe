#include "common/device/device_errors.h"
#include "server/resident/node/turn.h"

namespace gcoord::server {

bool has_device_turn() {
  return false;
}

Result<std::unique_ptr<ResidentTurn>> make_device_turn(ResidentNode&, std::uint32_t, DeviceCalls&) {
  return Status{StatusCode::Unavailable, "this build has no CUDA", kDeviceBuild};
}

}  // namespace gcoord::server
