// A test that needs GPUs: how many there are, and memory of each. Skipped where there is none.
#pragma once

#include "netcore/device/gpu_device.h"
#include "netcore/memory/registry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace gcoord::netcore {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto count = gpu_count();
    if (!count.ok()) {
      GTEST_SKIP() << count.status().to_string();
    }
    count_ = count.value();
  }

  static std::unique_ptr<MemorySource> memory_of(std::uint32_t device) {
    auto memory = make_gpu_memory(device);
    EXPECT_TRUE(memory.ok()) << memory.status().to_string();
    return std::move(memory).value();
  }

  std::uint32_t count_ = 0;
};

}  // namespace gcoord::netcore
