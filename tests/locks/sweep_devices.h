// The devices that tests of sweeps run on: the host everywhere, a GPU where there is one.
#pragma once

#include "locks/sweep_device.h"

#include <memory>
#include <string_view>

namespace gcoord::locks {

// "host", or "cuda" for the first GPU; a failure says why there is none.
inline Result<std::unique_ptr<SweepDevice>> sweep_device_of(std::string_view kind) {
  return kind == "host" ? make_host_sweep_device() : make_cuda_sweep_device(0);
}

}  // namespace gcoord::locks
