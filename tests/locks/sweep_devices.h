// The devices that tests of sweeps run on: the host everywhere, a GPU where there is one.
#pragma once

#include "locks/sweep_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

namespace gcoord::locks {

// "host", or "cuda" for the first GPU; a failure says why there is none.
inline Result<std::unique_ptr<SweepDevice>> sweep_device_of(std::string_view kind) {
  return kind == "host" ? make_host_sweep_device() : make_cuda_sweep_device(0);
}

// A test that its parameter gives a device; skipped where there is none.
class SweepDeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto made = sweep_device_of(GetParam());
    if (!made.ok()) {
      GTEST_SKIP() << "skipped: " << made.status().message();
    }
    device_ = std::move(made).value();
  }

  std::unique_ptr<SweepDevice> device_;
};

}  // namespace gcoord::locks
