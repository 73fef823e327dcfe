// What a sweep asks of the CUDA runtime, without a GPU: of which memory it copies, how long it
// waits, and what it leaves behind when the device is full.
#include "locks/sweep_cuda_launch.h"
#include "tests/common/stub_cuda.h"

#include <gtest/gtest.h>

#include <memory>

namespace gcoord::locks {

// The kernels, which have nothing to do here.
void launch_renew(const RenewBatch& /*batch*/, cudaStream_t /*stream*/) {}

void launch_scan_due(const DueScan& /*scan*/, cudaStream_t /*stream*/) {}

void launch_take_due(const DueTake& /*take*/, cudaStream_t /*stream*/) {}

void launch_begin_graph(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_prune_graph(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_find_cycles(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_nothing(cudaStream_t /*stream*/) {}

namespace {

class SweepCudaCallsTest : public testing::Test {
 protected:
  SweepCudaCallsTest() { stub_cuda() = StubCuda{}; }

  void open() {
    auto opened = make_cuda_sweep_device(0);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device_ = std::move(opened).value();
  }

  std::unique_ptr<SweepDevice> device_;
};

TEST_F(SweepCudaCallsTest, WhatWasDealtWithIsNotFoundAtTheNextLaunch) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub_cuda().full = true;
  EXPECT_EQ(device_->reserve(8).status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);
  EXPECT_EQ(device_->reserve_shared(8).status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);
  const Status looked = device_->scan_due({});
  EXPECT_TRUE(looked.ok()) << looked.to_string();
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);  // Nor that it was not ready at first.
}

}  // namespace
}  // namespace gcoord::locks
